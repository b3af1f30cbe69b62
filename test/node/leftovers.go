package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// prefix begins the names of everything that outlives a node whose test was killed.
const prefix = "holdfast-node-"

// aliveFile in a node's folder is locked for as long as the process that started it lives.
const aliveFile = "alive"

// makeDir makes the folder of a new node, marked as alive until the lock is released or this process is gone.
func makeDir() (string, *buildcache.Lock, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", nil, err
	}
	lock, err := buildcache.TryLock(filepath.Join(dir, aliveFile))
	if err == nil && lock == nil {
		err = errors.New("somebody else took a folder that was just made")
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

// clearLeftovers removes what nodes of killed tests left in the temporary folder and among the cgroups. A folder is theirs
// when it has the name and the mark of a node's, and nobody holds the mark; a cgroup is when it is named after such a
// folder. It says what it removed.
func clearLeftovers(temp string, hierarchies []string) ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(temp, prefix+"*"))
	if err != nil {
		return nil, err
	}
	var removed []string
	for _, dir := range dirs {
		gone, err := ownerGone(dir)
		if err != nil {
			return removed, err
		}
		if !gone {
			continue
		}
		if err := removeCgroups(hierarchies, filepath.Base(dir)); err != nil {
			return removed, err
		}
		if err := os.RemoveAll(dir); err != nil {
			return removed, fmt.Errorf("remove what a killed test left: %w", err)
		}
		removed = append(removed, dir)
	}
	return removed, nil
}

// ownerGone reports whether the folder was a node's whose process is gone.
func ownerGone(dir string) (bool, error) {
	alive := filepath.Join(dir, aliveFile)
	if _, err := os.Stat(alive); err != nil {
		return false, nil // not marked: somebody else's, or one that is being made
	}
	lock, err := buildcache.TryLock(alive)
	if err != nil || lock == nil {
		return false, err
	}
	lock.Release()
	return true, nil
}

// hierarchies are the roots of the cgroup hierarchies in mounts, which reads as /proc/mounts.
func hierarchies(mounts string) []string {
	var roots []string
	for line := range strings.SplitSeq(mounts, "\n") {
		f := strings.Fields(line)
		if len(f) > 2 && (f[2] == "cgroup" || f[2] == "cgroup2") {
			roots = append(roots, f[1])
		}
	}
	return roots
}

// makeCgroups makes the node's cgroup in each hierarchy that lets it.
func makeCgroups(roots []string, name string) error {
	for _, root := range roots {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			return fmt.Errorf("make the node's cgroup: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the cgroups of that name with all below them. One in which a process still runs is an error.
func removeCgroups(roots []string, name string) error {
	for _, root := range roots {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil {
			return err
		}
		for i := len(dirs) - 1; i >= 0; i-- { // those inside first
			if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove a cgroup of the node: %w", err)
			}
		}
	}
	return nil
}
