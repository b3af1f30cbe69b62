// Package node brings up a real node on this machine for the stories that need real pods: containerd, kubelet and
// kube-proxy, joined to the control plane of package cluster, with images that are made here.
//
// The node lives in namespaces of its own: processes, mounts, network, host name. The kernel ends them with the first
// process in them, and ends that with the test that started it, however the test ends. So no process, mount, interface,
// route or iptables rule can stay behind, and no setting of this machine's kernel is changed. What the kernel leaves are
// folders: one in the temporary folder and empty ones in the cgroup file system, both named after the node; the next start
// removes those whose owner is gone.
//
//	n, err := node.Start(ctx, node.Options{})
//	defer n.Stop()
//
//	err = n.InstallFlux(ctx)                    // upstream's manifests, the real controllers
//	out, err := n.World.Kubectl(ctx, cluster.Admin, "-n", "flux-system", "get", "pods")
//
// A pair of interfaces ties the node to this machine: pods reach the API server, the Git server and the DNS server here,
// and nothing else, because the node has no default route. One node runs at a time on a machine; a second waits.
//
// It takes Linux, root, and Debian's containerd, runc, containernetworking-plugins and iptables; Missing says what lacks.
package node
