package scratch

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

var some = []File{
	{Path: "/bin/run", Mode: 0o755, Content: []byte("a program")},
	{Path: "/tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
	{Path: "/etc/ssl/ca.crt", Mode: 0o644, Content: []byte("a certificate")},
}

// listing is an archive as one line a file.
func listing(t *testing.T, content []byte) string {
	t.Helper()
	var out strings.Builder
	for r := tar.NewReader(bytes.NewReader(content)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %o %d:%d %s %q\n", h.Name, h.Mode, h.Uid, h.Gid, h.ModTime.UTC().Format(time.RFC3339), body)
	}
}

func TestALayerHasTheFilesWithTheirFoldersInOrderAndNoTime(t *testing.T) {
	content, err := archive(some)
	if err != nil {
		t.Fatal(err)
	}
	const want = `bin/ 755 0:0 1970-01-01T00:00:00Z ""
bin/run 755 0:0 1970-01-01T00:00:00Z "a program"
etc/ 755 0:0 1970-01-01T00:00:00Z ""
etc/ssl/ 755 0:0 1970-01-01T00:00:00Z ""
etc/ssl/ca.crt 644 0:0 1970-01-01T00:00:00Z "a certificate"
tmp/ 1777 0:0 1970-01-01T00:00:00Z ""
`
	if got := listing(t, content); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Go's own reader does not miss the end, and others do.
func TestALayerEndsAsAnArchiveDoes(t *testing.T) {
	content, err := archive(some)
	if err != nil {
		t.Fatal(err)
	}
	const block = 512
	if len(content)%block != 0 || !bytes.HasSuffix(content, make([]byte, 2*block)) {
		t.Errorf("%d bytes are no whole blocks that end with two of zeros", len(content))
	}
	list := exec.Command("tar", "-tf", "-")
	list.Stdin = bytes.NewReader(content)
	if said, err := list.CombinedOutput(); err != nil || len(strings.Fields(string(said))) != 6 {
		t.Errorf("tar reads it as %v: %s", err, said)
	}
}

func TestWhatNoImageCanHaveIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []File
		want  string
	}{
		{"a path that is not absolute", []File{{Path: "bin/run"}}, "not the path of a file"},
		{"a path that leaves the image", []File{{Path: "/../run"}}, "not the path of a file"},
		{"the root itself", []File{{Path: "/"}}, "not the path of a file"},
		{"one path twice", []File{{Path: "/run"}, {Path: "/run"}}, "/run is there twice"},
		{"a file in a file", []File{{Path: "/run"}, {Path: "/run/me"}}, "/run is a file, and /run/me is in it"},
		{"a file that this machine does not have", []File{{Path: "/run", From: "/no/such/file"}}, "read /run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := archive(c.files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestATreeHasTheModesOfTheImage(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := WriteTree(root, some); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		"bin": fs.ModeDir | 0o755, "bin/run": 0o755, "etc/ssl/ca.crt": 0o644, "tmp": fs.ModeDir | fs.ModeSticky | 0o777,
	} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
}

func TestASavedImageIsReadBackWithItsDigestAndConfig(t *testing.T) {
	image, err := New(Config{Arch: "arm64", User: "65532:65532", Entrypoint: []string{"/bin/run"}, Env: []string{"A=b"}}, some)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dist", "image.tar")
	if err := image.Save(path, "registry.example/some:v1"); err != nil {
		t.Fatal(err)
	}
	back, err := tarball.ImageFromPath(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := back.Digest(); err != nil || got.String() != digest {
		t.Errorf("read back: digest %v, %v; want %s", got, err, digest)
	}
	file, err := back.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := file.Config; file.Architecture != "arm64" || file.OS != "linux" || c.User != "65532:65532" || c.WorkingDir != "/" ||
		c.Entrypoint[0] != "/bin/run" || c.Env[0] != "A=b" {
		t.Errorf("read back: %s/%s %+v", file.OS, file.Architecture, c)
	}
}

func TestAnImageIsNotSavedUnderANameThatIsNone(t *testing.T) {
	image, err := New(Config{Arch: "amd64"}, some)
	if err != nil {
		t.Fatal(err)
	}
	if err := image.Save(filepath.Join(t.TempDir(), "image.tar"), "Not A Name"); err == nil {
		t.Error("it was saved")
	}
}
