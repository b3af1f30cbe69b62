package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	boundary = survivor{File: "p/p.go", Function: "decide", Type: "CONDITIONALS_BOUNDARY", Line: "case a «>» b,"}
	negation = survivor{File: "p/p.go", Function: "decide", Type: "CONDITIONALS_NEGATION", Line: "a «==» limit:"}
)

func TestAMutantIsNamedByWhatStandsThere(t *testing.T) {
	for _, row := range []struct {
		says         string
		line, column int
		function     string
		text         string
	}{
		{"the first of two operators", 7, 9, "decide", boundary.Line},
		{"the second line of a case", 8, 5, "decide", negation.Line},
		{"outside of any function", 3, 17, "package", "const limit = 5 «*» 60"},
	} {
		t.Run(row.says, func(t *testing.T) {
			function, text, err := place([]byte(source), row.line, row.column)
			if err != nil || function != row.function || text != row.text {
				t.Errorf("got %q in %q (%v), want %q in %q", text, function, err, row.text, row.function)
			}
		})
	}
	method := "package p\n\nfunc (s *Seen) x(a, b bool) {\n\tfor a &&!b { // why\n\t\tbreak\n\t}\n}\n"
	for _, row := range []struct {
		line, column int
		text         string
	}{{4, 8, "for a «&&»!b {"}, {5, 3, "«break»"}} {
		if function, text, err := place([]byte(method), row.line, row.column); err != nil || function != "Seen.x" || text != row.text {
			t.Errorf("got %q in %q (%v), want %q", text, function, err, row.text)
		}
	}
}

func TestSurvivorsMustBeListed(t *testing.T) {
	lived := func(s survivor) mutant { return mutant{s, statusLived} }
	for _, row := range []struct {
		says   string
		seen   []mutant
		listed []survivor
		want   bool
		prints string
	}{
		{"all killed", []mutant{{boundary, statusKilled}}, nil, true, "1 killed, 0 lived"},
		{"one lived, and is listed", []mutant{lived(boundary)}, []survivor{boundary}, true, "0 killed, 1 lived"},
		{"one lived, and is not", []mutant{lived(boundary), lived(negation)}, []survivor{boundary}, false, "LIVED, and not listed:\n  - " + negation.String()},
		{"one that no test reaches counts as one that lived", []mutant{{boundary, statusNotCovered}}, nil, false, "NOT COVERED, and not listed"},
		{"one listed is noticed by now", []mutant{{boundary, statusKilled}}, []survivor{boundary}, false, "lives no longer"},
		{"what is listed of another package is not looked at", nil, []survivor{{File: "q/q.go"}}, true, "0 killed"},
		{"one ran out of time", []mutant{{boundary, statusTimedOut}}, nil, false, "TIMED OUT"},
		{"one does not compile", []mutant{{boundary, statusNotViable}}, nil, true, "1 not viable"},
	} {
		t.Run(row.says, func(t *testing.T) {
			var out bytes.Buffer
			if got := report(&out, "p", row.seen, row.listed); got != row.want || !strings.Contains(out.String(), row.prints) {
				t.Errorf("accepted %v, want %v, and %q in:\n%s", got, row.want, row.prints, &out)
			}
		})
	}
}

func TestTheListIsReadAsItIsPrinted(t *testing.T) {
	text := "# Title\n\nProse.\n\n- " + boundary.String() + " — the two meet.\n- " + negation.String() + " — argued.\n"
	got, err := parseSurvivors(text)
	if err != nil || !slices.Equal(got, []survivor{boundary, negation}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, wrong := range []string{"- " + boundary.String() + " — \n", "- `p.go` `decide` — no type\n"} {
		if _, err := parseSurvivors(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestTheOutputOfGremlinsIsRead(t *testing.T) {
	root := t.TempDir()
	result := filepath.Join(root, "result.json")
	if err := os.MkdirAll(filepath.Join(root, "p"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{filepath.Join(root, "p", "p.go"): source, result: `{"files":[{"file_name":"p.go","mutations":[
		{"type":"CONDITIONALS_BOUNDARY","status":"LIVED","line":7,"column":9},
		{"type":"CONDITIONALS_NEGATION","status":"KILLED","line":8,"column":5}]}]}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := read(root, "p", result)
	if want := []mutant{{boundary, statusLived}, {negation, statusKilled}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

// The list itself is checked with the unit tests: each item has a reason and names a line there is.
func TestWhatIsListedIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, survivorsFile))
	if err != nil {
		t.Fatal(err)
	}
	listed, err := parseSurvivors(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range listed {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(s.File)))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(src), strings.NewReplacer("«", "", "»", "").Replace(s.Line)) {
			t.Errorf("%s has no line %q", s.File, s.Line)
		}
	}
}
