package product

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/holdfast-gitops/holdfast/hack/image/scratch"
)

// programs are the packages of the product's module by the path of the program in the image.
var programs = map[string]string{
	"/gitmirror": "./gitmirror",
	"/holder":    "./sidecar",
	"/holdfast":  "./cli",
	"/injector":  "./injector",
}

const versionVariable = "github.com/holdfast-gitops/holdfast/internal/version.number"

// Build says what is built, from where and for what.
type Build struct {
	Checkout string // folder of the product's go.mod
	Version  string // what --version says; "": unknown
	Arch     string // as GOARCH names it; "": this machine's
	Scratch  string // an existing folder the programs are linked in
}

// Files builds the programs and returns all files of the image. Where the checkout is, what Git says about it and what is
// set in this machine's environment have no part in them.
func (b Build) Files(ctx context.Context) ([]scratch.File, error) {
	files := around()
	for path, pkg := range programs {
		out := filepath.Join(b.Scratch, filepath.Base(path))
		if err := b.compile(ctx, pkg, out); err != nil {
			return nil, fmt.Errorf("build %s: %w", path, err)
		}
		files = append(files, scratch.File{Path: path, Mode: 0o755, From: out})
	}
	return files, nil
}

// Image builds the programs and puts them into an image.
func (b Build) Image(ctx context.Context) (*scratch.Image, error) {
	files, err := b.Files(ctx)
	if err != nil {
		return nil, err
	}
	return scratch.New(Config(b.Architecture()), files)
}

// Architecture is what is built for.
func (b Build) Architecture() string { return cmp.Or(b.Arch, runtime.GOARCH) }

// compile builds one package as a static program.
func (b Build) compile(ctx context.Context, pkg, out string) error {
	ldflags := "-s -w"
	if b.Version != "" {
		ldflags += " -X " + versionVariable + "=" + b.Version
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", ldflags, "-o", out, pkg)
	cmd.Dir = b.Checkout
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+b.Architecture(), "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off")
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, strings.TrimSpace(string(said)))
	}
	return os.Chmod(out, fs.FileMode(0o755))
}
