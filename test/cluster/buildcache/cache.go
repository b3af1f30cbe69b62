package buildcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// keep is how many versions of one program stay in the cache, so that changing branches back and forth stays cheap.
const keep = 2

// Cache is a folder of built programs. Any number of processes may use one folder at the same time.
type Cache struct {
	Dir string    // made when missing
	Out io.Writer // progress lines for a person
}

// DefaultDir is $HOLDFAST_CACHE, else the folder holdfast in the user's cache folder.
func DefaultDir() (string, error) {
	if dir := os.Getenv("HOLDFAST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder (set HOLDFAST_CACHE to choose one): %w", err)
	}
	return filepath.Join(dir, "holdfast"), nil
}

// Get returns the path of the program p, building it when the cache has none for its key. Safe to call from several
// processes at once: one builds, the others wait. The file at the path is whole, whoever is killed when.
func (c Cache) Get(ctx context.Context, p Program) (string, error) {
	tc, err := FindToolchain(ctx, p.Dir)
	if err != nil {
		return "", err
	}
	key, err := p.Key(tc)
	if err != nil {
		return "", err
	}
	return c.get(ctx, p.Name, key, func(ctx context.Context, out string) error { return c.compile(ctx, p, out) })
}

// get is Get for a known key; build writes the program to the path it is given.
func (c Cache) get(ctx context.Context, name, key string, build func(context.Context, string) error) (string, error) {
	path := filepath.Join(c.Dir, "bin", name+"-"+key)
	if touch(path) {
		c.say("%s: cached", name)
		return path, nil
	}
	lock, err := TakeLock(ctx, filepath.Join(c.Dir, "lock", name+"-"+key), func() {
		c.say("%s: another process is building it, waiting", name)
	})
	if err != nil {
		return "", err
	}
	defer lock.Release()
	if touch(path) {
		c.say("%s: built by another process", name)
		return path, nil
	}
	if err := c.replace(ctx, name, path, build); err != nil {
		return "", fmt.Errorf("build %s: %w", name, err)
	}
	return path, c.prune(name)
}

// replace builds under a temporary name and renames. The caller has the lock, so a temporary file that is already
// there was left by a build that was killed.
func (c Cache) replace(ctx context.Context, name, path string, build func(context.Context, string) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	start := time.Now()
	c.say("%s: building (the first time takes minutes)", name)
	if err := build(ctx, tmp); err != nil {
		return errors.Join(err, removeIfThere(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	c.say("%s: built in %s", name, time.Since(start).Round(time.Second))
	return nil
}

// prune removes all but the versions of name used last. A running program is not hurt: worlds link what they run.
func (c Cache) prune(name string) error {
	paths, err := filepath.Glob(filepath.Join(c.Dir, "bin", name+"-*"))
	if err != nil {
		return err
	}
	type version struct {
		path string
		used time.Time
	}
	var versions []version
	for _, path := range paths {
		key := filepath.Base(path)[len(name)+1:]
		info, err := os.Stat(path)
		if err != nil || !isKey(key) {
			continue // gone meanwhile, somebody's build, or another program with a longer name
		}
		versions = append(versions, version{path, info.ModTime()})
	}
	slices.SortFunc(versions, func(a, b version) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.path, b.path)) })
	for i := keep; i < len(versions); i++ {
		if err := removeIfThere(versions[i].path); err != nil {
			return fmt.Errorf("prune %s: %w", name, err)
		}
	}
	return nil
}

func isKey(s string) bool {
	return len(s) == keyDigits && !slices.ContainsFunc([]byte(s), func(b byte) bool {
		return (b < '0' || b > '9') && (b < 'a' || b > 'f')
	})
}

// touch marks path as used now, which prune goes by, and reports whether it is there.
func touch(path string) bool {
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (c Cache) say(format string, args ...any) { fmt.Fprintf(c.Out, format+"\n", args...) }
