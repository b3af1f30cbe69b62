package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/holdfast-gitops/holdfast/hack/image/product"
	"github.com/holdfast-gitops/holdfast/hack/image/scratch"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// Images of the node. No registry is ever asked: each is made on this machine and put into the node.
const (
	imagePrefix = "holdfast.test/"

	// PeerImage runs /peer, which takes `pause` and `get URL [NAME]`.
	PeerImage = imagePrefix + "peer:test"
)

const fluxUser = "65534:65534" // as the images of Flux have it

// importPeer puts the images in that every other pod needs.
func (n *Node) importPeer(ctx context.Context) error {
	path, err := n.World.BuildTestProgram(ctx, "peer", "./node/peer")
	if err != nil {
		return err
	}
	files := []scratch.File{{Path: "/peer", Mode: 0o755, From: path}}
	for ref, args := range map[string][]string{pauseImage: {"/peer", "pause"}, PeerImage: {"/peer"}} {
		if err := n.put(ctx, ref, scratch.Config{User: "65532:65532", Entrypoint: args}, files); err != nil {
			return err
		}
	}
	return nil
}

// importFlux puts a controller of Flux in under the name that `flux install` gives its image.
func (n *Node) importFlux(ctx context.Context, name string) error {
	files := []scratch.File{{Path: "/" + name, Mode: 0o755, From: n.World.ProgramPath(name)}}
	return n.put(ctx, fluxImage(name)+":"+fluxTag, scratch.Config{User: fluxUser, Entrypoint: []string{"/" + name}}, files)
}

// ImportHoldfast builds the product's image from the checkout and puts it in under the name ref, such as the one that the
// chart gives it.
func (n *Node) ImportHoldfast(ctx context.Context, ref string) error {
	return n.phase("Holdfast's image", func() error {
		dir, err := buildcache.DefaultDir()
		if err != nil {
			return err
		}
		// An unchanged program is not even linked again.
		dir = filepath.Join(dir, "image", strings.ReplaceAll(n.World.Checkout(), string(filepath.Separator), "_"))
		lock, err := buildcache.TakeLock(ctx, dir+".lock", func() {
			fmt.Fprintln(n.options.Out, "node: another process builds the image, waiting")
		})
		if err != nil {
			return err
		}
		defer lock.Release()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		files, err := product.Build{Checkout: n.World.Checkout(), Version: "test", Scratch: dir}.Files(ctx)
		if err != nil {
			return err
		}
		return n.put(ctx, ref, product.Config(runtime.GOARCH), files)
	})
}

// put makes an image of the files and puts it into the node.
func (n *Node) put(ctx context.Context, ref string, c scratch.Config, files []scratch.File) error {
	c.Arch = runtime.GOARCH
	image, err := scratch.NewLoose(c, files)
	if err != nil {
		return err
	}
	path := n.layout().path("images", strings.NewReplacer("/", "_", ":", "_").Replace(ref)+".tar")
	if err := image.Save(path, ref); err != nil {
		return err
	}
	defer os.Remove(path)
	out, err := exec.CommandContext(ctx, "ctr", "--address="+n.layout().socket(), "--namespace=k8s.io", "images", "import", path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import the image %s: %w: %s", ref, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func fluxImage(name string) string { return "ghcr.io/fluxcd/" + name }

// controllers are those of Flux that run in pods.
var controllers = []string{cluster.SourceController, cluster.KustomizeController}
