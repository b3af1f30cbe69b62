package node

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// fluxTag is the version in the manifests of the modules that package cluster pins.
const fluxTag = "v1.9.6"

const (
	rolloutBound = 2 * time.Minute
	renew        = 12 * time.Second // of a Lease, before it is given up
)

// fluxAround is what `flux install` adds to the manifests that each controller brings: accounts, rights and a quota.
//
//go:embed manifests/flux.yaml
var fluxAround string

// InstallFlux runs the real source-controller and kustomize-controller in pods, from upstream's own manifests, in the form
// that `flux install` gives them, and returns once both are available. Their Leases are shorter than usual, for the stories
// that wait for one to run out. There is no notification-controller, so they are told of none.
func (n *Node) InstallFlux(ctx context.Context) error {
	return n.phase("Flux", func() error {
		for _, name := range controllers {
			if err := n.importFlux(ctx, name); err != nil {
				return err
			}
		}
		dir := n.layout().path("flux")
		if err := n.writeFlux(ctx, dir); err != nil {
			return fmt.Errorf("write the manifests of Flux: %w", err)
		}
		if _, err := n.World.Kubectl(ctx, cluster.Admin, "apply", "--server-side", "-k", dir); err != nil {
			return err
		}
		for _, name := range controllers {
			if err := n.RolledOut(ctx, cluster.FluxNamespace, "deployment/"+name); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFlux writes a kustomization whose bases are the folders that the controllers' modules ship.
func (n *Node) writeFlux(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	modules, err := n.World.FluxModules(ctx)
	if err != nil {
		return err
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nnamespace: " + cluster.FluxNamespace + "\nresources:\n- flux.yaml\n"
	for _, module := range modules {
		for _, part := range []string{"crd", "manager"} {
			rel, err := filepath.Rel(dir, filepath.Join(module, "config", part))
			if err != nil {
				return err
			}
			text += "- " + rel + "\n"
		}
	}
	text += "images:\n"
	for _, name := range controllers {
		text += fmt.Sprintf("- {name: fluxcd/%s, newName: %s, newTag: %s}\n", name, fluxImage(name), fluxTag)
	}
	text += "patches:\n"
	for _, name := range controllers {
		text += fmt.Sprintf(`- target: {kind: Deployment, name: %[1]s}
  patch: |
    - {op: add, path: /spec/template/spec/serviceAccountName, value: %[1]s}
    - {op: add, path: /spec/template/spec/priorityClassName, value: system-cluster-critical}
    - op: add
      path: /spec/template/spec/containers/0/env/-
      value: {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {containerName: manager, resource: limits.memory}}}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --leader-election-lease-duration=%[2]s}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --leader-election-renew-deadline=%[3]s}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --leader-election-retry-period=1s}
`, name, cluster.PairLease, renew)
	}
	for name, content := range map[string]string{"kustomization.yaml": text, "flux.yaml": fluxAround} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// RolledOut waits until the newest pods of a workload are available and the older ones are gone.
func (n *Node) RolledOut(ctx context.Context, namespace, workload string) error {
	out, err := n.World.Kubectl(ctx, cluster.Admin, "-n", namespace, "rollout", "status", workload, "--timeout="+rolloutBound.String())
	if err == nil {
		return nil
	}
	pods, _ := n.World.Kubectl(ctx, cluster.Admin, "-n", namespace, "get", "pods,events") // for the message alone
	return fmt.Errorf("%w\n%s", err, strings.TrimSpace(out+pods))
}

// phase does one step and notes how long it took.
func (n *Node) phase(name string, do func() error) error {
	begin := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n.phases = append(n.phases, cluster.Phase{Name: name, Took: time.Since(begin)})
	return nil
}
