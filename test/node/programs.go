package node

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/node/plan"
)

// runNode writes what the programs of the node read and starts its first process.
func (n *Node) runNode(ctx context.Context) error {
	l := n.layout()
	plugins, err := pluginDir()
	if err != nil {
		return err
	}
	paths := map[string]string{}
	for _, name := range []string{"containerd", "runc"} {
		if paths[name], err = exec.LookPath(name); err != nil {
			return err
		}
	}
	files := map[string]string{
		"containerd.toml":   l.containerdConfig(plugins, paths["runc"]),
		"cni/pods.conflist": l.cniConfig(),
		"kubelet.yaml":      l.kubeletConfig(),
		"kube-proxy.yaml":   l.proxyConfig(),
	}
	for name, value := range tunables {
		files["tunables/"+filepath.Base(l.tunable(name))] = value + "\n"
	}
	for name, content := range files {
		if err := os.WriteFile(l.path(name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	_, apiPort, err := net.SplitHostPort(n.World.APIAddress())
	if err != nil {
		return err
	}
	if err := n.World.NodeFiles(l.path("identity"), Name, nodeAddress, net.JoinHostPort(hostAddress, apiPort)); err != nil {
		return err
	}
	link := "hfn" + strings.ToLower(rand.Text()[:8]) // another one than that of a node the kernel is still taking down
	if err := l.plan(os.Getpid(), link, n.programs(paths["containerd"])).Write(l.path("plan.json")); err != nil {
		return err
	}
	return n.World.RunProgram(ctx, cluster.Program{
		Name: component, Package: "./node/init", Args: []string{l.path("plan.json")}, Cloned: ownNamespaces, Grace: 2 * time.Second,
		Ready: func(ctx context.Context) error { return dialUnix(ctx, l.socket()) },
	})
}

func (n *Node) programs(containerd string) []plan.Program {
	l := n.layout()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.path("run"), "TMPDIR=" + l.path("run")}
	program := func(name, path string, args ...string) plan.Program {
		return plan.Program{Name: name, Path: path, Args: args, Env: env, Log: filepath.Join(n.World.LogDir(), name+".log")}
	}
	kubelet := program(cluster.Kubelet, n.World.ProgramPath(cluster.Kubelet),
		"--config="+l.path("kubelet.yaml"), "--kubeconfig="+l.path("identity", cluster.Kubelet+".kubeconfig"),
		"--hostname-override="+Name, "--node-ip="+nodeAddress, "--cert-dir="+l.path("identity"), "--v=2")
	kubelet.Await = l.socket()
	return []plan.Program{
		program("containerd", containerd, "--config="+l.path("containerd.toml"), "--log-level=info"),
		kubelet,
		program(cluster.KubeProxy, n.World.ProgramPath(cluster.KubeProxy), "--config="+l.path("kube-proxy.yaml")),
	}
}

func dialUnix(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}
