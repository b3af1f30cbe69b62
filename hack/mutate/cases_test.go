package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

const limit = 5 * 60

func decide(a, b int) int {
	switch {
	case a > b,
		a == limit:
		return 1
	default:
		return 2
	}
}

func unreached(a, b int) int {
	switch {
	case a < b:
		return 1
	}
	return 2
}
`

// What Go counts of source when a test reaches decide and nothing else.
const profile = `mode: set
m/p/p.go:5.27,6.9 1 1
m/p/p.go:7.11,8.11 1 0
m/p/p.go:10.10,11.11 1 1
m/p/p.go:15.30,16.9 1 0
m/p/p.go:17.13,18.11 1 0
m/p/p.go:20.2,20.10 1 0
`

func TestConditionsOfCasesAndConstantsAreReachedToo(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module m\n", "p/p.go": source, "profile": profile} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := addCases("profile"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("profile")
	if err != nil {
		t.Fatal(err)
	}
	more := strings.Split(strings.TrimSpace(strings.TrimPrefix(string(got), profile)), "\n")
	want := []string{"m/p/p.go:3.7,3.21 1 1", "m/p/p.go:7.7,8.13 1 1"}
	if !slices.Equal(more, want) {
		t.Errorf("added %q, want %q", more, want)
	}
}

func TestWhatTheGoCommandSaysGoesOnToGremlins(t *testing.T) {
	for _, row := range []struct {
		says   string
		script string
		want   int
	}{
		{"a test that failed noticed the mutant", "echo FAIL; exit 1", exitNoticed},
		{"what does not compile proves nothing", "echo 'FAIL m/p [build failed]'; exit 1", exitNotViable},
		{"tests that passed did not notice it", "echo ok", 0},
	} {
		t.Run(row.says, func(t *testing.T) {
			fake := filepath.Join(t.TempDir(), "go")
			if err := os.WriteFile(fake, []byte("#!/bin/sh\n"+row.script+"\n"), 0o700); err != nil { // #nosec G306 -- it is run
				t.Fatal(err)
			}
			t.Setenv(realGo, fake)
			if got := standIn([]string{"test", "m/p"}); got != row.want {
				t.Errorf("exit code %d, want %d", got, row.want)
			}
		})
	}
}
