package buildcache

import (
	"os"
	"path/filepath"
	"testing"
)

// tiny writes a module of one program into a folder of the test's own.
func tiny(t *testing.T) Program {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.org/tiny\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "go.sum"), "")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(7) }\n")
	return Program{Name: "tiny", Dir: dir, Package: ".", LDFlags: "-s -w"}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustKey(t *testing.T, p Program, tc Toolchain) string {
	t.Helper()
	key, err := p.Key(tc)
	if err != nil {
		t.Fatal(err)
	}
	if !isKey(key) {
		t.Fatalf("key %q is not %d hex digits", key, keyDigits)
	}
	return key
}

func TestKeyChangesWithEveryInput(t *testing.T) {
	for _, row := range []struct {
		input  string
		change func(t *testing.T, p *Program, tc *Toolchain)
	}{
		{"go.mod", func(t *testing.T, p *Program, _ *Toolchain) {
			write(t, filepath.Join(p.Dir, "go.mod"), "module example.org/tiny\n\ngo 1.26.1\n")
		}},
		{"go.sum", func(t *testing.T, p *Program, _ *Toolchain) {
			write(t, filepath.Join(p.Dir, "go.sum"), "example.org/x v1.0.0 h1:0=\n")
		}},
		{"a source", func(t *testing.T, p *Program, _ *Toolchain) {
			write(t, filepath.Join(p.Dir, "main.go"), "package main\n\nfunc main() {}\n")
		}},
		{"one more source", func(t *testing.T, p *Program, _ *Toolchain) {
			write(t, filepath.Join(p.Dir, "more.go"), "package main\n")
		}},
		{"a source of a package inside", func(t *testing.T, p *Program, _ *Toolchain) {
			write(t, filepath.Join(p.Dir, "in", "in.go"), "package in\n")
		}},
		{"the name of a source, which may hold a build constraint", func(t *testing.T, p *Program, _ *Toolchain) {
			if err := os.Rename(filepath.Join(p.Dir, "main.go"), filepath.Join(p.Dir, "main_linux.go")); err != nil {
				t.Fatal(err)
			}
		}},
		{"the Go version", func(_ *testing.T, _ *Program, tc *Toolchain) { tc.Version = "go1.26.9" }},
		{"the architecture", func(_ *testing.T, _ *Program, tc *Toolchain) { tc.Env = "linux\narm64\n" }},
		{"the linker flags", func(_ *testing.T, p *Program, _ *Toolchain) { p.LDFlags = "" }},
		{"the package", func(_ *testing.T, p *Program, _ *Toolchain) { p.Package = "./in" }},
		{"the name", func(_ *testing.T, p *Program, _ *Toolchain) { p.Name = "other" }},
	} {
		t.Run(row.input, func(t *testing.T) {
			p, tc := tiny(t), Toolchain{Version: "go1.26.8", Env: "linux\namd64\n"}
			before := mustKey(t, p, tc)
			row.change(t, &p, &tc)
			if after := mustKey(t, p, tc); after == before {
				t.Errorf("the key is still %s", after)
			}
		})
	}
}

func TestKeyStaysForWhatIsNotBuilt(t *testing.T) {
	for path, content := range map[string]string{
		"main_test.go":         "package main\n",
		"README.md":            "words\n",
		".hidden/x.go":         "package x\n",
		"nested/go.mod":        "module example.org/nested\n",
		"nested/deeper/far.go": "package deeper\n",
	} {
		t.Run(path, func(t *testing.T) {
			p, tc := tiny(t), Toolchain{Version: "go1.26.8"}
			write(t, filepath.Join(p.Dir, "nested", "go.mod"), "module example.org/nested2\n")
			before := mustKey(t, p, tc)
			write(t, filepath.Join(p.Dir, path), content)
			if after := mustKey(t, p, tc); after != before {
				t.Errorf("the key went from %s to %s", before, after)
			}
		})
	}
}

func TestKeyIsTheSameInAnotherFolder(t *testing.T) {
	a, b := tiny(t), tiny(t)
	tc := Toolchain{Version: "go1.26.8"}
	if ka, kb := mustKey(t, a, tc), mustKey(t, b, tc); ka != kb {
		t.Errorf("two checkouts of one module have keys %s and %s", ka, kb)
	}
}

func TestToolchainKnowsItsVersionAndWhereItBuildsFor(t *testing.T) {
	p := tiny(t)
	amd, err := FindToolchain(t.Context(), p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOARCH", "riscv64")
	other, err := FindToolchain(t.Context(), p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if amd.Version == "" || amd.Version != other.Version || amd.Env == other.Env {
		t.Errorf("got %+v and, for another architecture, %+v", amd, other)
	}
}

func TestKeyChangesWithWhatIsAddedToAModule(t *testing.T) {
	plain := Program{Name: "p", Dir: t.TempDir(), Package: "./cmd/p"}
	completed := func(module, path, content string) Program {
		p := plain
		p.Completed = &Completed{Module: module, Files: map[string]string{path: content}}
		return p
	}
	keys := map[string]bool{}
	all := []Program{plain, completed("m", "f", "x"), completed("n", "f", "x"), completed("m", "g", "x"), completed("m", "f", "y")}
	for _, p := range all {
		key, err := p.Key(Toolchain{Version: "go1"})
		if err != nil {
			t.Fatal(err)
		}
		keys[key] = true
	}
	if len(keys) != len(all) {
		t.Errorf("%d programs have %d keys", len(all), len(keys))
	}
}
