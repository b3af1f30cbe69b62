package stories

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/test/node"
)

// traces is what a node could leave on a machine: interfaces, routes, rules, mounts, and files where its programs put theirs.
func traces(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `
ip -brief link; ip route; ip -6 route
iptables-save | grep -v '^#'; ip6tables-save | grep -v '^#'
cut -d' ' -f1-3 /proc/mounts | grep -e holdfast -e containerd -e kubelet -e netns
cd /proc/sys && grep -H . vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops net/ipv4/ip_forward
ls -d /run/containerd /run/netns /var/lib/kubelet /var/lib/cni /var/lib/containerd /var/log/pods /var/log/containers 2>&1
true`).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	// The names of interfaces that are there anyhow say with what they are joined.
	return regexp.MustCompile(`@\S+`).ReplaceAllString(string(out), "")
}

// ofNodes are the processes and the folders that only a node has.
func ofNodes(t *testing.T) (found []string) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		if words, err := os.ReadFile(path); err == nil && strings.Contains(string(words), "/holdfast-node-") {
			found = append(found, strings.ReplaceAll(string(words), "\x00", " "))
		}
	}
	for _, pattern := range []string{filepath.Join(os.TempDir(), "holdfast-node-*"), "/sys/fs/cgroup/holdfast-node-*", "/sys/fs/cgroup/*/holdfast-node-*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}

// eventually looks until ok, for the kernel takes a while to take namespaces down.
func eventually(t *testing.T, what string, ok func() (bool, string)) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		done, saw := ok()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: in vain; last seen:\n%s", what, saw)
		}
	}
}

func TestANodeWhoseTestIsKilledLeavesNothingThatTheNextDoesNotClear(t *testing.T) {
	needNode(t)
	before := traces(t)
	command := filepath.Join(t.TempDir(), "node")
	if out, err := exec.Command("go", "build", "-o", command, "../cmd/node").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.Command(command, "-flux=false")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	up := false
	for lines := bufio.NewScanner(out); !up && lines.Scan(); {
		up = strings.Contains(lines.Text(), "Ctrl-C")
	}
	if !up {
		_ = cmd.Process.Kill()
		t.Fatalf("it did not come up: %v", cmd.Wait())
	}
	if during := traces(t); during == before {
		t.Error("a node is up, and this test sees nothing of it")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, which is no success
	eventually(t, "the machine is as before", func() (bool, string) { now := traces(t); return now == before, now })
	eventually(t, "only folders are left", func() (bool, string) {
		found := ofNodes(t)
		for _, f := range found {
			if !strings.HasPrefix(f, "/") || strings.Contains(f, " ") {
				return false, strings.Join(found, "\n")
			}
		}
		return len(found) > 0, "nothing at all: this test does not see what is left"
	})

	next, err := node.Start(t.Context(), node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the next has cleared it all", func() (bool, string) {
		found := strings.Join(ofNodes(t), "\n")
		return found == "" && traces(t) == before, found + traces(t)
	})
}
