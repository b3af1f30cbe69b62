package cluster

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// Command lines of other projects. No world needs them to run, so they are built when one is asked for, and by Build.
const (
	helmClient = "helm"
	fluxClient = "flux"
)

// fluxVersion is what fluxcli/go.mod pins; the program says it of itself, and of the controllers it expects.
const fluxVersion = "2.9.5"

// clients are the command lines by name.
func clients(root string) map[string]buildcache.Program {
	const strip = "-s -w"
	return map[string]buildcache.Program{
		helmClient: {Name: helmClient, Dir: filepath.Join(root, "test", "chart"), Package: "helm.sh/helm/v4/cmd/helm", LDFlags: strip},
		fluxClient: {
			Name: fluxClient, Dir: filepath.Join(root, "test", "cluster", "fluxcli"), Package: "./cmd/flux", LDFlags: strip + " -X main.VERSION=" + fluxVersion,
			Completed: &buildcache.Completed{Module: "github.com/fluxcd/flux2/v2", Files: map[string]string{
				"cmd/flux/manifests/placeholder.yaml": "# What `flux install` applies comes with a release. Nothing here installs Flux with this program.\n",
			}},
		},
	}
}

// buildClients puts them into the cache.
func buildClients(ctx context.Context, root string, out io.Writer) error {
	cache, err := openCache(out)
	if err != nil {
		return err
	}
	for _, p := range clients(root) {
		if _, err := cache.Get(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// clientPath returns where a command line is, building it when the cache has none, which takes minutes.
func (w *World) clientPath(ctx context.Context, name string) (string, error) {
	cache, err := openCache(w.options.Out)
	if err != nil {
		return "", err
	}
	path, err := cache.Get(ctx, clients(w.root)[name])
	if err != nil {
		return "", err
	}
	return w.path("bin/" + name), binaries{name: path}.linkInto(w.path("bin"))
}

// PrepareClients builds helm and flux, so that the first story that calls one is not the one that waits.
func (w *World) PrepareClients(ctx context.Context) error {
	for name := range clients(w.root) {
		if _, err := w.clientPath(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// HelmPath is the real helm, of the version test/chart pins.
func (w *World) HelmPath(ctx context.Context) (string, error) { return w.clientPath(ctx, helmClient) }

// Helm runs helm as user and returns what it printed, errors included.
func (w *World) Helm(ctx context.Context, user string, args ...string) (string, error) {
	return w.runClient(ctx, helmClient, user, args...)
}

// Flux runs Flux's command line as user and returns what it printed, errors included.
func (w *World) Flux(ctx context.Context, user string, args ...string) (string, error) {
	return w.runClient(ctx, fluxClient, user, args...)
}

func (w *World) runClient(ctx context.Context, name, user string, args ...string) (string, error) {
	path, err := w.clientPath(ctx, name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = w.environment("KUBECONFIG=" + w.Kubeconfig(user))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s as %s: %w: %s", name, strings.Join(args, " "), user, err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
