package buildcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Completed says that a program is built from a copy of its module, because what the module was published with does not
// build as it is: files are missing that its own release makes.
type Completed struct {
	Module string            // which the go.mod in the program's Dir pins; Package is a path in it, such as ./cmd/flux
	Files  map[string]string // what is added to the copy, by path
}

// inputs are what the key of a completed program has besides that of any other.
func (c *Completed) inputs() []string {
	if c == nil {
		return nil
	}
	all := []string{c.Module}
	for _, path := range slices.Sorted(maps.Keys(c.Files)) {
		all = append(all, path, c.Files[path])
	}
	return all
}

// copyModule puts the module with the added files into a folder of the cache, which remove takes away again.
func (c Cache) copyModule(ctx context.Context, p Program) (dir string, remove func() error, err error) {
	source := ""
	err = c.run(ctx, p.Dir, []string{"mod", "download", "-json", p.Completed.Module}, func(line string) { source += line }, func(_ seen, since time.Duration) {
		c.say("%s: downloading its module, %s", p.Name, since)
	})
	if err != nil {
		return "", nil, fmt.Errorf("find the module %s: %w", p.Completed.Module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal([]byte(source), &found); err != nil || found.Dir == "" {
		return "", nil, fmt.Errorf("find the module %s: %w: %s", p.Completed.Module, err, source)
	}
	if dir, err = os.MkdirTemp(c.Dir, "source-"+p.Name+"-"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	if err := copyTree(found.Dir, dir); err != nil {
		return "", nil, errors.Join(fmt.Errorf("copy the module %s: %w", p.Completed.Module, err), remove())
	}
	for path, content := range p.Completed.Files {
		to := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(content), 0o644)); err != nil {
			return "", nil, errors.Join(err, remove())
		}
	}
	return dir, remove, nil
}

// copyTree copies regular files; unlike those of a module cache, the copies may be written and removed.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o644)
	})
}
