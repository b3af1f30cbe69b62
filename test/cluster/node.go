package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// Programs of a node. A world only has them, in ProgramPath; package node runs them.
const (
	Kubelet   = "kubelet"
	KubeProxy = "kube-proxy"
)

const (
	scheduler     = "kube-scheduler"
	schedulerUser = "system:kube-scheduler"

	// apiServerName is a name on the API server's certificate, for who reaches it by an address that is not on it.
	apiServerName = "kubernetes.default.svc"
)

// ServiceRange is where Services of a world have their addresses, and APIServiceAddress is that of the API server's.
const (
	ServiceRange      = "10.96.0.0/24"
	APIServiceAddress = "10.96.0.1"
)

// nodeArgs are what the control plane needs besides when there are nodes; of a list given twice, both count.
func (w *World) nodeArgs(name string) []string {
	if !w.options.ForNode {
		return nil
	}
	switch name {
	case APIServer:
		return []string{
			"--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction",
			"--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority=" + w.pki.file("ca.crt"),
			"--kubelet-client-certificate=" + w.pki.file("apiserver-kubelet.crt"), "--kubelet-client-key=" + w.pki.file("apiserver-kubelet.key"),
		}
	case ControllerManager:
		return []string{"--controllers=" + strings.Join([]string{
			"endpointslice-controller", "node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller",
			"job-controller", "ttl-after-finished-controller", "disruption-controller", "resourcequota-controller",
		}, ",")}
	}
	return nil
}

func (w *World) scheduler() component {
	kubeconfig := w.Kubeconfig(schedulerUser)
	ready := w.answers(fmt.Sprintf("https://%s/healthz", loopback(w.ports.scheduler)))
	return component{name: scheduler, grace: time.Second, ready: ready, args: []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup=true", "--leader-elect=false",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", w.ports.scheduler), "--client-ca-file=" + w.pki.file("ca.crt"),
		"--tls-cert-file=" + w.pki.file("controller-manager.crt"), "--tls-private-key-file=" + w.pki.file("controller-manager.key"),
	}}
}

// APIAddress is the host:port on which the API server listens.
func (w *World) APIAddress() string { return loopback(w.ports.apiServer) }

// ProgramPath is where the world has a program of another project, by the name of its component.
func (w *World) ProgramPath(name string) string { return w.path("bin/" + name) }

// NodeFiles writes into dir what a node called name needs to join: ca.crt, kubelet.crt and kubelet.key for its server on
// address, and kubelet.kubeconfig and kube-proxy.kubeconfig, which reach the API server at server, host:port.
func (w *World) NodeFiles(dir, name, address, server string) error {
	serving, err := w.pki.cluster.server("system:node:"+name, name, address)
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": w.pki.cluster.pem, "kubelet.crt": serving.cert, "kubelet.key": serving.key}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			return err
		}
	}
	for program, who := range map[string][]string{
		Kubelet:   {"system:node:" + name, "system:nodes"},
		KubeProxy: {"system:kube-proxy"},
	} {
		client, err := w.pki.cluster.client(who[0], who[1:]...)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, program+".kubeconfig")
		if err := writeKubeconfig(path, "https://"+server, who[0], w.pki.cluster.pem, client); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", program, err)
		}
		if err := expectName(path, apiServerName); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", program, err)
		}
	}
	return nil
}

// expectName makes the kubeconfig at path take the server for the one of that name, whatever its address is.
func expectName(path, name string) error {
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return err
	}
	for _, cluster := range c.Clusters {
		cluster.TLSServerName = name
	}
	return clientcmd.WriteToFile(*c, path)
}

// Program is one that a suite runs as a further component of the world: it has a log, it is stopped with the world, and it
// dies with this process.
type Program struct {
	Name    string // of the component
	Package string // in the module of the tests
	Args    []string
	Cloned  uintptr                     // namespaces of its own, as flags of clone(2)
	Ready   func(context.Context) error // nil error: it serves
	Grace   time.Duration               // from SIGTERM to SIGKILL
}

// RunProgram builds the program and starts it; it returns once it is ready. Linux only.
func (w *World) RunProgram(ctx context.Context, p Program) error {
	if _, err := w.BuildTestProgram(ctx, p.Name, p.Package); err != nil {
		return err
	}
	return w.run(ctx, component{name: p.Name, args: p.Args, attr: inNamespaces(p.Cloned), ready: p.Ready, grace: p.Grace})
}

// BuildTestProgram builds a program of the module of the tests and returns where the world has it.
func (w *World) BuildTestProgram(ctx context.Context, name, pkg string) (string, error) {
	return w.ProgramPath(name), w.buildProgram(ctx, filepath.Join(w.root, "test"), name, pkg)
}

// Checkout is the folder of the checkout the world was started from.
func (w *World) Checkout() string { return w.root }

// FluxModules are where the sources of source-controller and kustomize-controller are, with the manifests they ship.
func (w *World) FluxModules(ctx context.Context) ([]string, error) {
	return moduleDirs(ctx, filepath.Join(w.root, "test", "cluster", "flux"),
		"github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller")
}

// AuditFiles are what gitmirror needs to take the API server's audit events, by the names the chart's Secret gives them. The
// certificate is for AuditAddress.
func (w *World) AuditFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, file := range map[string]string{"tls.crt": "audit.crt", "tls.key": "audit.key", "ca.crt": "audit-ca.crt"} {
		content, err := os.ReadFile(w.pki.file(file))
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	return files, nil
}

// AuditAddress is the host:port to which the API server sends its audit events.
func (w *World) AuditAddress() string { return loopback(w.ports.gitmirrorAudit) }
