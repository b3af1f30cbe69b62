package gitstore

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// MaxFileBytes is the largest file Read returns.
	MaxFileBytes = 1 << 20
	// maxFiles bounds the files of one folder.
	maxFiles = 100_000
)

// File is a file in a Tree.
type File struct {
	// Path from the repository's root.
	Path string
	// Hash of the content: equal hashes are equal bytes.
	Hash string
	// Other is true for a symlink or a submodule: nothing can be read from it or written to it or below it.
	Other bool
}

// Tree is the files below one folder at one commit. Names that are not safe everywhere are left out. Not for use by
// several goroutines.
type Tree struct {
	repo   *Repository
	folder string // "" is the root
	root   plumbing.Hash
	files  []File
	byPath map[string]plumbing.Hash
}

// Tree returns the folder at a commit. A folder that is not there has no files, and neither has an empty commit. ErrPath
// when the folder or one above it is a file, symlink or submodule. "." is the root.
func (r *Repository) Tree(commit, folder string) (*Tree, error) {
	t := &Tree{repo: r}
	var names []string
	if folder != "." {
		var err error
		if names, err = segments(folder); err != nil {
			return nil, fmt.Errorf("read folder: %w", err)
		}
		t.folder = folder
	}
	if commit == "" {
		return t, nil
	}
	hash, err := r.rootOf(commit)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", folder, err)
	}
	for _, name := range names {
		entries, err := r.readTree(hash)
		if err != nil {
			return nil, fmt.Errorf("read folder %s: %w", folder, err)
		}
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		if i < 0 {
			return t, nil
		}
		if !entries[i].folder() {
			return nil, fmt.Errorf("read folder %s: %s is not a folder: %w", folder, name, ErrPath)
		}
		hash = entries[i].hash
	}
	t.root = hash
	return t, nil
}

// Files returns the files in Git's order, each folder's own together. ErrTooLarge when there are too many.
func (t *Tree) Files() ([]File, error) {
	if t.byPath != nil {
		return t.files, nil
	}
	byPath := map[string]plumbing.Hash{}
	if err := t.gather(t.root, t.folder, 0, byPath); err != nil {
		t.files = nil
		return nil, err
	}
	t.byPath = byPath
	return t.files, nil
}

func (t *Tree) gather(hash plumbing.Hash, folder string, depth int, byPath map[string]plumbing.Hash) error {
	entries, err := t.repo.readTree(hash)
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	if depth > maxDepth || len(t.files)+len(entries) > maxFiles {
		return fmt.Errorf("list %s: %w", folder, ErrTooLarge)
	}
	for _, e := range entries {
		if !safeName(e.name) {
			continue
		}
		at := path.Join(folder, e.name)
		switch {
		case e.folder():
			if err := t.gather(e.hash, at, depth+1, byPath); err != nil {
				return err
			}
		case e.regular():
			byPath[at] = e.hash
			t.files = append(t.files, File{Path: at, Hash: e.hash.String()})
		default:
			t.files = append(t.files, File{Path: at, Hash: e.hash.String(), Other: true})
		}
	}
	return nil
}

// Read returns the content of a regular one of Files. ErrPath for any other path; ErrTooLarge above MaxFileBytes.
func (t *Tree) Read(file string) ([]byte, error) {
	if _, err := t.Files(); err != nil {
		return nil, err
	}
	hash, ok := t.byPath[file]
	if !ok {
		return nil, fmt.Errorf("read %q: %w", file, ErrPath)
	}
	content, err := t.repo.readObject(plumbing.BlobObject, hash, MaxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return content, nil
}

// rootOf returns the root tree of a commit.
func (r *Repository) rootOf(commit string) (plumbing.Hash, error) {
	raw, err := r.readObject(plumbing.CommitObject, plumbing.NewHash(commit), maxCommit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	hash, ok := strings.CutPrefix(line, "tree ")
	if !ok || !plumbing.IsHash(hash) {
		return plumbing.ZeroHash, fmt.Errorf("commit %s is malformed", commit)
	}
	return plumbing.NewHash(hash), nil
}
