package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTreeKeepsItsLayers(t *testing.T) {
	breaches, err := Check(filepath.Join("..", ".."), Holdfast)
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// Each row is one file of an invented module, and what the check has to say about it.
func TestARuleBites(t *testing.T) {
	rules := Holdfast
	rules.Module = "example.test/tree"
	rules.Cores = []string{"sidecar/hold", "gitmirror/branch/step.go", "internal/binding"}

	for _, row := range []struct{ says, file, source, breach string }{
		{"a core may import the API", "sidecar/hold/a.go",
			`package hold; import _ "example.test/tree/api/v1alpha1"`, ""},
		{"a core may import another core", "sidecar/hold/a.go",
			`package hold; import _ "example.test/tree/internal/binding"`, ""},
		{"a core may hold a time it is given", "sidecar/hold/a.go",
			`package hold; import "time"; type Seen struct { Now time.Time }`, ""},
		{"a core may parse an address", "sidecar/hold/a.go",
			`package hold; import _ "net/mail"`, ""},
		{"a core may not read the clock", "sidecar/hold/a.go",
			`package hold; import "time"; var now = time.Now()`, "sidecar/hold/a.go:1 uses time.Now"},
		{"a core may not read the clock under another name", "sidecar/hold/a.go",
			`package hold; import clock "time"; var now = clock.Now`, "sidecar/hold/a.go:1 uses time.Now"},
		{"a core may not sleep", "sidecar/hold/a.go",
			`package hold; import "time"; func f() { time.Sleep(1) }`, "uses time.Sleep"},
		{"a core may not use a client", "sidecar/hold/a.go",
			`package hold; import _ "sigs.k8s.io/controller-runtime/pkg/client"`, "a core imports no client"},
		{"a core may not use client-go", "sidecar/hold/a.go",
			`package hold; import _ "k8s.io/client-go/dynamic"`, "a core imports no client"},
		{"a core may take a host and port apart", "sidecar/hold/a.go",
			`package hold; import "net"; var _, _, _ = net.SplitHostPort("a:1")`, ""},
		{"a core may not dial", "sidecar/hold/a.go",
			`package hold; import "net"; var dial = net.Dial`, "uses net.Dial"},
		{"a core may not talk HTTP", "sidecar/hold/a.go",
			`package hold; import _ "net/http"`, "a core imports no client"},
		{"a core may not log", "sidecar/hold/a.go",
			`package hold; import _ "log/slog"`, "a core imports no client"},
		{"a core may not rest on a shell", "sidecar/hold/a.go",
			`package hold; import _ "example.test/tree/internal/metrics"`, "a core rests only on"},
		{"a core may not import what only reads like the API", "sidecar/hold/a.go",
			`package hold; import _ "example.test/tree/apiextra"`, "a core rests only on"},
		{"a pure file in a package with a shell is a core", "gitmirror/branch/step.go",
			`package branch; import _ "net/http"`, "a core imports no client"},
		{"the shell beside it is not", "gitmirror/branch/runner.go",
			`package branch; import ("net/http"; "time"); var _, _ = http.Get, time.Now`, ""},
		{"a shell may not import go-git", "gitmirror/watch/a.go",
			`package watch; import _ "github.com/go-git/go-git/v5/plumbing"`, "only gitmirror/gitstore may"},
		{"gitstore may import go-git", "gitmirror/gitstore/a.go",
			`package gitstore; import _ "github.com/go-git/go-git/v5/plumbing"`, ""},
		{"one program may not import the other", "sidecar/controller/a.go",
			`package controller; import _ "example.test/tree/gitmirror/author"`, "sidecar may not rest on it"},
		{"the command line may not import a program", "cli/command/a.go",
			`package command; import _ "example.test/tree/sidecar/controller"`, "cli may not rest on it"},
		{"what programs share may not import a program", "internal/status/a.go",
			`package status; import _ "example.test/tree/sidecar/hold"`, "internal may not rest on it"},
		{"the API imports nothing of ours", "api/v1alpha1/a.go",
			`package v1alpha1; import _ "example.test/tree/internal/status"`, "api may not rest on it"},
		{"a test may import anything", "sidecar/hold/a_test.go",
			`package hold; import _ "net/http"`, ""},
		{"a folder is named for what is inside", "internal/util/a.go",
			`package util`, "internal/util: the folder's name"},
	} {
		t.Run(row.says, func(t *testing.T) {
			root := t.TempDir()
			for _, core := range rules.Cores { // each listed core exists
				if !strings.HasSuffix(core, ".go") {
					core += "/doc.go"
				}
				write(t, root, core, "package "+filepath.Base(filepath.Dir(core)))
			}
			write(t, root, row.file, row.source)

			breaches, err := Check(root, rules)
			if err != nil {
				t.Fatal(err)
			}
			switch got := strings.Join(breaches, "\n"); {
			case row.breach == "" && got != "":
				t.Errorf("it is refused:\n%s", got)
			case row.breach != "" && len(breaches) != 1, !strings.Contains(got, row.breach):
				t.Errorf("got %q, want one breach that says %q", got, row.breach)
			}
		})
	}
}

func TestARuleAboutNothingIsABreach(t *testing.T) {
	breaches, err := Check(t.TempDir(), Rules{Module: "example.test/tree", Cores: []string{"sidecar/gone"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(breaches) != 1 || !strings.HasPrefix(breaches[0], "sidecar/gone: ") {
		t.Errorf("got %q, want a breach about sidecar/gone", breaches)
	}
}

func TestANestedModuleIsNotJudged(t *testing.T) {
	root := t.TempDir()
	write(t, root, "test/go.mod", "module example.test/tree/test")
	write(t, root, "test/util/a.go", "package util")
	breaches, err := Check(root, Holdfast.withoutCores())
	if err != nil || len(breaches) != 0 {
		t.Errorf("got %q, %v, want neither", breaches, err)
	}
}

func (r Rules) withoutCores() Rules { r.Cores = nil; return r }

func write(t *testing.T, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
