package product

import (
	"context"
	"crypto/x509"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-gitops/holdfast/hack/image/scratch"
)

// checkout is the checkout that this test is in.
var checkout = filepath.Join("..", "..", "..")

// copyCheckout copies what a commit of the checkout would have now into a folder that is made for it.
func copyCheckout(t *testing.T, to string) string {
	t.Helper()
	list, err := exec.Command("git", "-C", checkout, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(checkout, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func build(t *testing.T, checkout string) []scratch.File {
	t.Helper()
	b := Build{Checkout: checkout, Version: "v1.2.3-test", Scratch: t.TempDir()}
	files, err := b.Files(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func digest(t *testing.T, files []scratch.File) string {
	t.Helper()
	image, err := scratch.New(Config(runtime.GOARCH), files)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestTheImage(t *testing.T) {
	here := copyCheckout(t, filepath.Join(t.TempDir(), "here"))
	one := build(t, here)

	t.Run("of two checkouts in two places is one image", func(t *testing.T) {
		t.Setenv("GOFLAGS", "-buildvcs=true -ldflags=-linkmode=internal") // a machine's own settings have no say
		there := filepath.Join(t.TempDir(), "quite", "another", "place")
		if err := os.CopyFS(there, os.DirFS(here)); err != nil { // somebody may be editing the checkout itself
			t.Fatal(err)
		}
		if a, b := digest(t, one), digest(t, build(t, there)); a != b {
			t.Errorf("%s is not %s", a, b)
		}
	})

	t.Run("has the programs, the authorities, two names for the user, and nothing else", func(t *testing.T) {
		var got []string
		for _, f := range one {
			got = append(got, fmt.Sprintf("%s %v", f.Path, f.Mode))
		}
		slices.Sort(got)
		want := []string{
			"/etc/group -rw-r--r--", "/etc/passwd -rw-r--r--", "/etc/ssl/certs/ca-certificates.crt -rw-r--r--",
			"/gitmirror -rwxr-xr-x", "/holder -rwxr-xr-x", "/holdfast -rwxr-xr-x", "/injector -rwxr-xr-x",
		}
		if !slices.Equal(got, want) {
			t.Errorf("it has %q, want %q", got, want)
		}
	})

	for _, f := range one {
		if f.From == "" {
			continue
		}
		t.Run(strings.TrimPrefix(f.Path, "/")+" needs no loader and says the version", func(t *testing.T) {
			program, err := elf.Open(f.From)
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			for _, p := range program.Progs {
				if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
					t.Errorf("it is linked dynamically: %v", p.Type)
				}
			}
			said, err := exec.Command(f.From, "--version").Output()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimPrefix(f.Path, "/") + " v1.2.3-test ("; !strings.HasPrefix(string(said), want) {
				t.Errorf("it says %q, want %q", said, want)
			}
		})
	}
}

func TestTheFilesOfTheImageCannotBeWrittenByItsUser(t *testing.T) {
	for _, f := range around() {
		if f.Mode.Perm()&0o022 != 0 || f.Mode&fs.ModeType != 0 {
			t.Errorf("%s has mode %v", f.Path, f.Mode)
		}
	}
}

func TestTheAuthoritiesAreReadAsCertificates(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities()) {
		t.Fatal("there is none")
	}
	if n := strings.Count(string(authorities()), "BEGIN CERTIFICATE"); n < 80 {
		t.Errorf("there are %d, which are too few to reach Git hosts", n)
	}
}
