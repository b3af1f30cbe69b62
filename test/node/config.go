package node

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/node/plan"
)

// Where everything of a node is: the link between it and this machine, and its pods.
const (
	hostAddress = "10.213.0.1"
	nodeAddress = "10.213.0.2"
	linkBits    = "/30"
	podRange    = "10.213.1.0/24"

	// Name is the node's, in the API and as its host name.
	Name = "holdfast-node"

	kubeletPort = 10250
)

// pauseImage keeps the namespaces of a pod.
const pauseImage = imagePrefix + "pause:test"

// tunables are settings of the kernel that kubelet insists on and that no namespace has of its own. It finds a file with
// the value it wants in their place, and leaves the machine's alone.
var tunables = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// layout are the paths of a node's folder.
type layout string

func (l layout) path(parts ...string) string {
	return filepath.Join(append([]string{string(l)}, parts...)...)
}

func (l layout) socket() string { return l.path("containerd.sock") }
func (l layout) id() string     { return filepath.Base(string(l)) }

// containerdConfig is for containerd 1.6 as Debian 12 has it, and for later ones of the 1 series.
func (l layout) containerdConfig(plugins, runc string) string {
	return fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = %[3]q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[4]q
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  # Root may lack CAP_SYS_RESOURCE, without which no process becomes less likely to be killed than this one.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = %[5]q
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %[6]q
    conf_dir = %[7]q
`, l.path("containerd"), l.path("run", "containerd"), l.socket(), pauseImage, runc, plugins, l.path("cni"))
}

// cniConfig gives each pod a pair of interfaces and a route. There is no bridge: what goes from one pod to another by way of
// a Service is then routed, and seen by the rules of kube-proxy both ways.
func (l layout) cniConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "1.0.0", "name": "pods",
  "plugins": [{
    "type": "ptp", "ipMasq": false,
    "ipam": {"type": "host-local", "dataDir": %q, "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`, l.path("addresses"), podRange)
}

func (l layout) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /%[1]s
containerRuntimeEndpoint: unix://%[2]s
address: %[3]s
port: %[4]d
healthzBindAddress: 127.0.0.1
tlsCertFile: %[5]s/kubelet.crt
tlsPrivateKeyFile: %[5]s/kubelet.key
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[5]s/ca.crt}
authorization: {mode: Webhook}
resolvConf: ""
clusterDomain: cluster.local
clusterDNS: ["%[6]s"]
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%, nodefs.inodesFree: 1%%}
nodeStatusUpdateFrequency: 5s
maxPods: 60
`, l.id(), l.socket(), nodeAddress, kubeletPort, l.path("identity"), hostAddress)
}

func (l layout) proxyConfig() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: %s
hostnameOverride: %s
bindAddress: %s
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
clientConnection: {kubeconfig: %s}
# These are the machine's, and stay as they are.
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
iptables: {minSyncPeriod: 100ms}
`, podRange, Name, nodeAddress, l.path("identity", cluster.KubeProxy+".kubeconfig"))
}

// plan is what the node's first process does. host is the process id of the test, link the name of the interface that ties
// this machine to the node.
func (l layout) plan(host int, link string, programs []plan.Program) plan.Plan {
	outside := func(command string) []string {
		return append([]string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", host), "--"}, strings.Fields(command)...)
	}
	p := plan.Plan{
		HostName: Name,
		Outside: [][]string{
			outside("ip link add " + link + " type veth peer name eth0 netns 1"),
			outside("ip address add " + hostAddress + linkBits + " dev " + link),
			outside("ip link set " + link + " up"),
			outside("ip route replace " + podRange + " via " + nodeAddress + " dev " + link),
			outside("ip route replace " + cluster.ServiceRange + " via " + nodeAddress + " dev " + link),
		},
		Over: map[string]string{"/run": l.path("run"), "/var/lib": l.path("lib"), "/var/log": l.path("log")},
		Inside: [][]string{
			strings.Fields("ip link set lo up"),
			strings.Fields("ip address add " + nodeAddress + linkBits + " dev eth0"),
			strings.Fields("ip link set eth0 up"),
			// A Service without an endpoint is for nobody else; the rules of kube-proxy come before this route.
			strings.Fields("ip route add " + cluster.ServiceRange + " dev eth0"),
			{"sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"},
		},
		Programs: programs,
	}
	for name := range tunables {
		p.Over["/proc/sys/"+name] = l.tunable(name)
	}
	return p
}

// tunable is the file seen in the place of a kernel's setting.
func (l layout) tunable(name string) string {
	return l.path("tunables", strings.ReplaceAll(name, "/", "."))
}
