package scratch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Config is what an image says about how its processes run.
type Config struct {
	Arch       string            // as GOARCH names it; the operating system is linux
	User       string            // uid:gid
	Entrypoint []string          // nil: whoever runs a container says the command
	Env        []string          // name=value
	Labels     map[string]string // nil: none
}

// Image is an image in memory.
type Image struct{ image v1.Image }

// New makes an image of one layer that has the files, packed as tightly as is usual.
func New(c Config, files []File) (*Image, error) { return pack(c, files, gzip.DefaultCompression) }

// NewLoose is New in a hurry: the layer is not packed, for an image that goes no further than this machine. Its digest is
// another one.
func NewLoose(c Config, files []File) (*Image, error) { return pack(c, files, gzip.NoCompression) }

func pack(c Config, files []File, level int) (*Image, error) {
	content, err := archive(files)
	if err != nil {
		return nil, fmt.Errorf("make a layer: %w", err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
		tarball.WithCompressedCaching, tarball.WithCompressionLevel(level))
	if err != nil {
		return nil, fmt.Errorf("make a layer: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("make an image: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("make an image: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", c.Arch
	file.Config = v1.Config{User: c.User, Entrypoint: c.Entrypoint, Env: c.Env, Labels: c.Labels, WorkingDir: "/"}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, fmt.Errorf("make an image: %w", err)
	}
	return &Image{image}, nil
}

// Digest names the image by its content, as a registry does: sha256:….
func (i *Image) Digest() (string, error) {
	digest, err := i.image.Digest()
	return digest.String(), err
}

// Save writes the image to the file at path under the name ref, such as registry.example/holdfast:v1, as an archive that
// `docker load`, `ctr images import` and their like take. The file at path is whole whenever it is there.
func (i *Image) Save(path, ref string) error {
	tag, err := name.NewTag(ref, name.WeakValidation)
	if err != nil {
		return fmt.Errorf("the image's name %q: %w", ref, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	part := path + ".part"
	if err := tarball.WriteToFile(part, tag, i.image); err != nil {
		_ = os.Remove(part) // the error that counts is the first
		return fmt.Errorf("write the image to %s: %w", path, err)
	}
	return os.Rename(part, path)
}
