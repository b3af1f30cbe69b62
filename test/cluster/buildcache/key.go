package buildcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// keyDigits is how much of the hash names a file: 64 bits, plenty for a folder of a few programs.
const keyDigits = 16

// Program is one program to build from a module of its own.
type Program struct {
	Name    string // file name; also the name in progress lines
	Dir     string // folder of the module whose go.mod pins every version
	Package string // what to build, as `go build` takes it: "." or an import path
	LDFlags string // given to the linker as they are

	Completed *Completed // nil: it is built in Dir
}

// Toolchain is what the go command would build with, apart from the sources.
type Toolchain struct {
	Version string // GOVERSION: go1.26.8
	Env     string // the other settings of `go env` that change the output, one a line
}

// buildEnv is set for every build and is part of every key. Static programs need no C compiler and run on any machine.
var buildEnv = []string{"CGO_ENABLED=0"}

// FindToolchain asks the go command what it builds with in dir. An error names the go command when it is missing.
func FindToolchain(ctx context.Context, dir string) (Toolchain, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT", "GOFLAGS", "GOFIPS140")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), buildEnv...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Toolchain{}, fmt.Errorf("ask the go command for its version (is Go installed and on PATH?): %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	version, rest, _ := strings.Cut(string(out), "\n")
	return Toolchain{Version: version, Env: rest}, nil
}

// flags are the build flags of the program, the same for the build and for the key.
func (p Program) flags() []string {
	return []string{"-trimpath", "-ldflags", p.LDFlags}
}

// Key names what Build makes of p with tc: 16 hex digits, different as soon as any input is. It reads the module's
// go.mod, go.sum and every .go file of the module that is not a test; nested modules are not part of it.
func (p Program) Key(tc Toolchain) (string, error) {
	h := sha256.New()
	inputs := []string{p.Name, p.Package, tc.Version, tc.Env, strings.Join(buildEnv, " "), strings.Join(p.flags(), " ")}
	for _, s := range append(inputs, p.Completed.inputs()...) {
		fmt.Fprintf(h, "%d:%s\n", len(s), s)
	}
	err := filepath.WalkDir(p.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return skipDir(p.Dir, path)
		case !isInput(d.Name()):
			return nil
		}
		return hashFile(h, p.Dir, path)
	})
	if err != nil {
		return "", fmt.Errorf("hash the sources of %s: %w", p.Name, err)
	}
	return hex.EncodeToString(h.Sum(nil))[:keyDigits], nil
}

// skipDir leaves out hidden folders and modules nested in root's.
func skipDir(root, path string) error {
	if path == root {
		return nil
	}
	if strings.HasPrefix(filepath.Base(path), ".") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func isInput(name string) bool {
	return name == "go.mod" || name == "go.sum" ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// hashFile adds a file's name, size and content; the size keeps two files from passing for one.
func hashFile(h io.Writer, root, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(rel), len(content))
	_, err = h.Write(content)
	return err
}
