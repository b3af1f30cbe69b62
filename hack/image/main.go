// Command image makes the image of Holdfast without a container engine, and prints its digest. It writes one file that
// `docker load`, `ctr images import`, skopeo and crane take; or, with -root, the files of the image as they are, which is
// what the Dockerfile asks for.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-gitops/holdfast/hack/image/product"
	"github.com/holdfast-gitops/holdfast/hack/image/scratch"
)

func main() {
	var s settings
	flag.StringVar(&s.out, "o", "", "file the image is written to; empty: dist/holdfast-ARCH.tar of the checkout")
	flag.StringVar(&s.ref, "ref", "holdfast:dev", "the image's name in that file")
	flag.StringVar(&s.root, "root", "", "write the files of the image into this folder instead")
	flag.StringVar(&s.build.Version, "version", "", "what the programs say when asked for their version")
	flag.StringVar(&s.build.Arch, "arch", "", "architecture, as GOARCH names it; empty: this machine's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := s.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	out, ref, root string
	build          product.Build
}

func (s settings) run(ctx context.Context) (err error) {
	if s.build.Checkout, err = findCheckout(); err != nil {
		return err
	}
	if s.build.Scratch, err = os.MkdirTemp("", "holdfast-image-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.build.Scratch)
	files, err := s.build.Files(ctx)
	if err != nil {
		return err
	}
	if s.root != "" {
		return scratch.WriteTree(s.root, files)
	}
	config := product.Config(s.build.Architecture())
	image, err := scratch.New(config, files)
	if err != nil {
		return err
	}
	if s.out == "" {
		s.out = filepath.Join(s.build.Checkout, "dist", "holdfast-"+config.Arch+".tar")
	}
	if err := image.Save(s.out, s.ref); err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s %s@%s\n", s.out, s.ref, digest)
	return nil
}

// findCheckout walks up from the working folder to the folder of the product's go.mod.
func findCheckout() (string, error) {
	const line = "module github.com/holdfast-gitops/holdfast"
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(content), "\n"); err == nil && strings.TrimSpace(first) == line {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no checkout of Holdfast at or above %s: run this from inside one", wd)
		}
	}
}
