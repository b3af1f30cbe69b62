package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// Signal sends the signal to every process of a pod's container, as the kernel of the node sees them.
func (n *Node) Signal(ctx context.Context, namespace, pod, container string, s syscall.Signal) error {
	id, err := n.containerID(ctx, namespace, pod, container)
	if err != nil {
		return err
	}
	pids, err := processesOf(id)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal %s of pod %s: %w", container, pod, err)
		}
	}
	if len(pids) == 0 {
		return fmt.Errorf("signal %s of pod %s: it has no process", container, pod)
	}
	return nil
}

// containerID is how containerd names the running container.
func (n *Node) containerID(ctx context.Context, namespace, pod, container string) (string, error) {
	admin, err := n.World.Client(cluster.Admin)
	if err != nil {
		return "", err
	}
	var p corev1.Pod
	if err := admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pod}, &p); err != nil {
		return "", err
	}
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		if s.Name == container && s.State.Running != nil {
			_, id, _ := strings.Cut(s.ContainerID, "://")
			return id, nil
		}
	}
	return "", fmt.Errorf("container %s of pod %s does not run", container, pod)
}

// processesOf are the processes in a container's cgroup.
func processesOf(id string) ([]int, error) {
	const proc = "/proc"
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if content, err := os.ReadFile(filepath.Join(proc, e.Name(), "cgroup")); err == nil && strings.Contains(string(content), id) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// memoryFiles are where a cgroup says what it uses and takes its limit: in the first version of cgroups, and in the second.
var memoryFiles = []struct{ used, limit string }{
	{"memory.usage_in_bytes", "memory.limit_in_bytes"},
	{"memory.current", "memory.max"},
}

// Squeeze leaves a running container that many bytes of memory more than it uses now. The kernel kills it once it wants
// more. When kubelet starts it again it has the limit of its pod.
func (n *Node) Squeeze(ctx context.Context, namespace, pod, container string, spare int64) error {
	id, err := n.containerID(ctx, namespace, pod, container)
	if err != nil {
		return err
	}
	for _, root := range n.roots {
		var dir string
		err := filepath.WalkDir(filepath.Join(root, n.layout().id()), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && errors.Is(err, fs.ErrNotExist): // a cgroup that went meanwhile
				return nil
			case err == nil && d.IsDir() && strings.Contains(d.Name(), id):
				dir = path
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, f := range memoryFiles {
			used, err := os.ReadFile(filepath.Join(dir, f.used))
			if dir == "" || err != nil {
				continue
			}
			bytes, err := strconv.ParseInt(strings.TrimSpace(string(used)), 10, 64)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, f.limit), []byte(strconv.FormatInt(bytes+spare, 10)), 0)
		}
	}
	return fmt.Errorf("container %s of pod %s has no memory cgroup", container, pod)
}
