package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// kubeVersion is stamped into the control plane, whose version clients parse. It equals k8s.io/kubernetes in kube/go.mod.
const (
	kubeVersion = "v1.36.3"
	kubeMajor   = "1"
	kubeMinor   = "36"
)

// binaries are built programs by the name a component is started with.
type binaries map[string]string

// upstream lists what is built from other projects' modules.
func upstream(root string) []buildcache.Program {
	const version, strip = " -X k8s.io/component-base/version.", "-s -w"
	kube := strip + version + "gitVersion=" + kubeVersion + version + "gitMajor=" + kubeMajor + version + "gitMinor=" + kubeMinor
	flux := filepath.Join(root, "test", "cluster", "flux")
	return []buildcache.Program{
		{Name: "kube", Dir: filepath.Join(root, "test", "cluster", "kube"), Package: ".", LDFlags: kube},
		{Name: SourceController, Dir: flux, Package: "github.com/fluxcd/source-controller", LDFlags: strip},
		{Name: KustomizeController, Dir: flux, Package: "github.com/fluxcd/kustomize-controller", LDFlags: strip},
	}
}

// Build puts every upstream program into the cache without starting anything, for a machine that is being prepared.
func Build(ctx context.Context, out io.Writer) error {
	root, err := findCheckout()
	if err != nil {
		return err
	}
	if _, err := buildUpstream(ctx, root, Options{Out: out}); err != nil {
		return err
	}
	return buildClients(ctx, root, out)
}

// buildUpstream builds one program after the other: linking one takes gigabytes.
func buildUpstream(ctx context.Context, root string, o Options) (binaries, error) {
	if err := checkTools(); err != nil {
		return nil, err
	}
	cache, err := openCache(o.Out)
	if err != nil {
		return nil, err
	}
	built := binaries{}
	for _, p := range upstream(root) {
		if o.WithoutFlux && p.Name != "kube" {
			continue
		}
		path, err := cache.Get(ctx, p)
		if err != nil {
			return nil, err
		}
		built[p.Name] = path
	}
	// One binary, called by the name of the component it should be.
	for _, name := range []string{Etcd, APIServer, ControllerManager, scheduler, Kubelet, KubeProxy, "kubectl"} {
		built[name] = built["kube"]
	}
	return built, nil
}

func openCache(out io.Writer) (buildcache.Cache, error) {
	dir, err := buildcache.DefaultDir()
	return buildcache.Cache{Dir: dir, Out: out}, err
}

// linkInto gives the world its own name for each program, so that pruning or rebuilding never touches one that runs.
func (b binaries) linkInto(dir string) error {
	for name, path := range b {
		if err := link(path, filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("put %s into the world: %w", name, err)
		}
	}
	return nil
}

// link makes to the same file as from, replacing what is there; on another file system it copies.
func link(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err := os.Link(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
