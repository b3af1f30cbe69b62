package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each row is one mutant of testdata/tree, and how it has to end.
func TestAMutantEndsAsItMust(t *testing.T) {
	door := Mutant{Name: "door", Promise: "A door knows its key.", File: "door.go", Package: ".", Run: "^TestADoor$"}
	with := func(change func(*Mutant)) Mutant { m := door; change(&m); return m }

	for _, row := range []struct {
		says    string
		mutant  Mutant
		noticed bool
		prints  string
	}{
		{"one that a test notices is named with that test",
			with(func(m *Mutant) { m.Old, m.New = "lock == key", "true" }), true, "TestADoor/stays_shut_for_another_key"},
		{"one that no test notices has survived",
			with(func(m *Mutant) { m.Old, m.New = `lock == ""`, `lock == "never"` }), false, "SURVIVED"},
		{"one whose old text is gone proves nothing",
			with(func(m *Mutant) { m.Old, m.New = "lock != key", "true" }), false, "occurs 0 times in door.go"},
		{"one whose old text is ambiguous proves nothing",
			with(func(m *Mutant) { m.Old, m.New = "lock ==", "key ==" }), false, "occurs 2 times in door.go"},
		{"one that does not compile proves nothing",
			with(func(m *Mutant) { m.Old, m.New = "lock == key", "lock == keys" }), false, "the mutant does not compile"},
		{"one whose tests fail anyway proves nothing",
			with(func(m *Mutant) { m.Old, m.New, m.Run = "lock == key", "true", "^TestThatIsBroken$" }), false,
			"fails on the unchanged source"},
		{"one whose tests do not exist proves nothing",
			with(func(m *Mutant) { m.Old, m.New, m.Run = "lock == key", "true", "^TestGone$" }), false, "no test ran"},
	} {
		t.Run(row.says, func(t *testing.T) {
			var out bytes.Buffer
			root, err := filepath.Abs(filepath.Join("testdata", "tree"))
			if err != nil {
				t.Fatal(err)
			}
			noticed := runner{root: root, out: &out}.all(context.Background(), []Mutant{row.mutant})
			if noticed != row.noticed || !strings.Contains(out.String(), row.prints) {
				t.Errorf("noticed %v, want %v, and %q in:\n%s", noticed, row.noticed, row.prints, &out)
			}
		})
	}
}

func TestTheCheckoutIsNotTouched(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("testdata", "tree"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(root, "door.go"))
	if err != nil {
		t.Fatal(err)
	}
	runner{root: root, out: &bytes.Buffer{}}.all(context.Background(), []Mutant{
		{Name: "door", File: "door.go", Old: "lock == key", New: "true", Package: ".", Run: "^TestADoor$"}})
	after, err := os.ReadFile(filepath.Join(root, "door.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("door.go was changed")
	}
}

func TestAGinkgoSpecIsNamedRatherThanItsSuite(t *testing.T) {
	const run = `{"Action":"output","Test":"TestE2E","Output":"\u001b[38;5;9m[FAIL]\u001b[0m \u001b[0mHolding \u001b[1m[It] takes it back\u001b[0m\n"}
{"Action":"output","Test":"TestE2E","Output":"  [FAIL] Holding [It] takes it back\n"}
{"Action":"fail","Test":"TestE2E"}
`
	if got := parse(strings.NewReader(run), "", true).killer(); got != "Holding [It] takes it back" {
		t.Errorf("got %q", got)
	}
}

// A stale mutant is found here, with the unit tests, and not only when somebody runs all mutants.
func TestEveryMutantFitsTheSource(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			if m.Promise == "" || m.Package == "" || m.Run == "" || seen[m.Name] {
				t.Error("a mutant has a name of its own, a promise, a package and the tests that guard it")
			}
			seen[m.Name] = true
			if _, err := (runner{root: root}).overlay(m, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMutantsArePickedByPattern(t *testing.T) {
	all := []Mutant{{Name: "simulated-a"}, {Name: "simulated-b"}, {Name: "plain"}}
	for _, row := range []struct {
		pattern string
		want    int
		err     bool
	}{
		{"", 3, false},
		{"plain", 1, false},
		{"simulated-*", 2, false},
		{"another", 0, false},
		{"[", 0, true},
	} {
		got, err := pick(all, row.pattern)
		if len(got) != row.want || (err != nil) != row.err {
			t.Errorf("pick(%q) = %d of them, %v; want %d, an error: %v", row.pattern, len(got), err, row.want, row.err)
		}
	}
}
