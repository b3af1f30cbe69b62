package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// someNode makes the folder of a node below temp, marked unless it says so, and its cgroups.
func someNode(t *testing.T, temp, name string, marked bool, roots ...string) string {
	t.Helper()
	dir := filepath.Join(temp, name)
	for _, d := range append([]string{filepath.Join(dir, "containerd")}, under(roots, name, "kubepods", "pod1")...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if marked {
		if err := os.WriteFile(filepath.Join(dir, aliveFile), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func under(roots []string, parts ...string) []string {
	var all []string
	for _, r := range roots {
		all = append(all, filepath.Join(append([]string{r}, parts...)...))
	}
	return all
}

func there(paths ...string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { _, err := os.Stat(p); return err != nil })
}

func TestOnlyWhatADeadTestLeftIsRemoved(t *testing.T) {
	temp, roots := t.TempDir(), []string{t.TempDir(), t.TempDir()}
	dead := someNode(t, temp, prefix+"dead", true, roots...)
	alive := someNode(t, temp, prefix+"alive", true, roots...)
	unmarked := someNode(t, temp, prefix+"unmarked", false, roots...)
	other := someNode(t, temp, "somebody-elses", true, roots...)
	lock, err := buildcache.TryLock(filepath.Join(alive, aliveFile))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	defer lock.Release()

	removed, err := clearLeftovers(temp, roots)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(removed, []string{dead}) {
		t.Errorf("it says that it removed %q", removed)
	}
	if left := there(append(under(roots, prefix+"dead"), dead)...); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	kept := append(under(roots, prefix+"alive", "kubepods", "pod1"), alive, unmarked, other, filepath.Join(roots[0], "somebody-elses"))
	if left := there(kept...); !slices.Equal(left, kept) {
		t.Errorf("of %q only %q is left", kept, left)
	}
}

func TestAFolderIsMarkedForAsLongAsItsProcessLives(t *testing.T) {
	if dir := os.Getenv("HOLDFAST_MARK"); dir != "" { // the process that is killed
		t.Setenv("TMPDIR", dir)
		if _, _, err := makeDir(); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	temp := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAFolderIsMarkedForAsLongAsItsProcessLives$")
	cmd.Env = append(os.Environ(), "HOLDFAST_MARK="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	marks := func() []string { all, _ := filepath.Glob(filepath.Join(temp, prefix+"*", aliveFile)); return all }
	for end := time.Now().Add(20 * time.Second); len(marks()) == 0 || !held(t, marks()[0]); {
		if time.Now().After(end) {
			t.Fatal("the other process made no folder")
		}
	}
	if removed, err := clearLeftovers(temp, nil); err != nil || removed != nil {
		t.Fatalf("while it lives: removed %q, %v", removed, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed, which is no success
	if removed, err := clearLeftovers(temp, nil); err != nil || len(removed) != 1 {
		t.Fatalf("once it is killed: removed %q, %v", removed, err)
	}
}

// held reports whether somebody has the lock at path.
func held(t *testing.T, path string) bool {
	t.Helper()
	lock, err := buildcache.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if lock != nil {
		lock.Release()
	}
	return lock == nil
}

func TestTheCgroupHierarchiesAreReadFromTheMounts(t *testing.T) {
	const mounts = `proc /proc proc rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
`
	if got, want := hierarchies(mounts), []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
