package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

const (
	component = "node" // of the world

	readyBound   = 90 * time.Second // for the node to be Ready, on a busy machine
	cgroupsBound = 10 * time.Second // for the kernel to let go of the cgroups of processes that it has killed
	lookEvery    = 50 * time.Millisecond
)

// Options say what kind of node Start makes.
type Options struct {
	Keep bool      // leave the folders of the node and of its world; KEEP=1 in the environment does the same
	Out  io.Writer // progress for a person; nil: standard error
}

// Node is a running node and the world whose control plane it has joined. The Git server of the world is found by pods and
// by this machine at the same address.
type Node struct {
	World *cluster.World
	Dir   string // everything the node has written

	options Options
	alive   *buildcache.Lock
	turn    *buildcache.Lock
	roots   []string // of the cgroup hierarchies
	relays  []*relay
	dns     *nameServer
	phases  []cluster.Phase
}

// Start starts a control plane and a node, and returns once the node is Ready. It first removes what nodes of killed tests
// left. Nothing is left running after an error. Stop the node in any case.
func Start(ctx context.Context, o Options) (*Node, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	if o.Out == nil {
		o.Out = os.Stderr
	}
	o.Keep = o.Keep || os.Getenv("KEEP") == "1"
	n := &Node{options: o}
	if err := n.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start a node: %w", err), n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"its turn and its folder", n.prepare},
		{"control plane", n.startWorld},
		{"containerd, kubelet, kube-proxy", n.runNode},
		{"ways into the world", n.openWays},
		{"first images", func(ctx context.Context) error { return n.importPeer(ctx) }},
		{"node Ready", n.awaitReady},
	}
	for _, s := range steps {
		begin := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		n.phases = append(n.phases, cluster.Phase{Name: s.name, Took: time.Since(begin)})
	}
	return nil
}

// prepare waits for its turn on this machine, clears what others left and makes the node's folder.
func (n *Node) prepare(ctx context.Context) (err error) {
	n.turn, err = buildcache.TakeLock(ctx, filepath.Join(os.TempDir(), "holdfast-one-node"), func() {
		fmt.Fprintln(n.options.Out, "node: another one runs on this machine, waiting for it to end")
	})
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return err
	}
	n.roots = hierarchies(string(mounts))
	removed, err := clearLeftovers(os.TempDir(), n.roots)
	for _, dir := range removed {
		fmt.Fprintf(n.options.Out, "node: removed %s, left by a test that was killed\n", dir)
	}
	if err != nil {
		return err
	}
	if n.Dir, n.alive, err = makeDir(); err != nil {
		return err
	}
	for _, dir := range []string{"run", "lib", "log", "cni", "identity", "tunables", "images"} {
		if err := os.Mkdir(n.layout().path(dir), 0o755); err != nil {
			return err
		}
	}
	return makeCgroups(n.roots, n.layout().id())
}

func (n *Node) startWorld(ctx context.Context) (err error) {
	n.World, err = cluster.Start(ctx, cluster.Options{ForNode: true, Temp: n.Dir, Keep: n.options.Keep, Out: n.options.Out})
	return err
}

// awaitReady waits until pods can be scheduled to the node and get an account.
func (n *Node) awaitReady(ctx context.Context) error {
	admin, err := n.World.Client(cluster.Admin)
	if err != nil {
		return err
	}
	saw := "it has not joined"
	err = wait.PollUntilContextTimeout(ctx, lookEvery, readyBound, true, func(ctx context.Context) (bool, error) {
		if !n.World.Running(component) {
			return false, errors.New("one of its programs has ended")
		}
		var node corev1.Node
		if err := admin.Get(ctx, client.ObjectKey{Name: Name}, &node); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady {
				saw = c.Message
				if c.Status != corev1.ConditionTrue || len(node.Spec.Taints) > 0 {
					return false, nil
				}
			}
		}
		err := admin.Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%w; last seen: %s; the node's log ends:\n%s\nand that of kubelet:\n%s", err, saw,
			n.World.LogTail(component), n.World.LogTail(cluster.Kubelet))
	}
	return nil
}

// Stop ends the node and its world and removes their folders, or says where they are when they are kept.
func (n *Node) Stop() error {
	var errs []error
	if n.dns != nil {
		errs = append(errs, n.dns.close())
	}
	for _, r := range n.relays {
		errs = append(errs, r.close())
	}
	n.dns, n.relays = nil, nil
	if n.World != nil {
		errs = append(errs, n.World.Stop())
	}
	if n.Dir != "" {
		errs = append(errs, n.release())
	}
	if n.turn != nil {
		n.turn.Release()
		n.turn = nil
	}
	return errors.Join(errs...)
}

// release removes what the kernel does not.
func (n *Node) release() error {
	last := error(nil)
	_ = wait.PollUntilContextTimeout(context.Background(), lookEvery, cgroupsBound, true, func(context.Context) (bool, error) {
		last = removeCgroups(n.roots, n.layout().id())
		return last == nil, nil
	}) // last says why
	n.alive.Release()
	if n.options.Keep {
		fmt.Fprintf(n.options.Out, "the node's folder is kept: %s\n", n.Dir)
		return last
	}
	dir := n.Dir
	n.Dir = ""
	return errors.Join(last, os.RemoveAll(dir))
}

// Timings are the phases of the start and of what was installed since, in order.
func (n *Node) Timings() []cluster.Phase { return n.phases }

// PrepareHelm puts the real helm into Bin.
func (n *Node) PrepareHelm(ctx context.Context) error {
	return n.phase("helm", func() error { _, err := n.World.HelmPath(ctx); return err })
}

// Bin is the folder of kubectl, and of helm once it is prepared.
func (n *Node) Bin() string { return filepath.Dir(n.World.KubectlPath()) }

func (n *Node) layout() layout { return layout(n.Dir) }
