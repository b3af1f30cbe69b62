package gitstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxCommit bounds the bytes read of one commit object.
const maxCommit = 1 << 20

// Signature is who, as Git writes it, and when.
type Signature struct {
	Name  string
	Email string
	When  time.Time // written with its own zone
}

// Change is what one commit does to its parent.
type Change struct {
	// Parent is the full hash of a commit in the store; empty starts a history.
	Parent string
	// Files is the new content by path from the repository's root. A file that exists keeps its mode.
	Files     map[string][]byte
	Author    Signature
	Committer Signature
	Message   string
}

// Commit is a commit in the store that may be pushed.
type Commit struct {
	Hash   string
	Parent string

	objects []plumbing.Hash // what the commit made: blobs, trees, itself
}

// Commit writes a commit into the store, without touching the remote. ErrNothingToCommit when every file already has its
// content; ErrPath when a path may not be written.
func (r *Repository) Commit(change Change) (Commit, error) {
	for _, s := range []Signature{change.Author, change.Committer} {
		if s.Name == "" || strings.ContainsAny(s.Name+s.Email, "<>\n\x00") {
			return Commit{}, errors.New("commit: the author and the committer need a name, and no <, > or line break")
		}
	}
	if strings.ContainsRune(change.Message, 0) {
		return Commit{}, errors.New("commit: the message has a NUL byte")
	}
	wanted, err := nest(change.Files)
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	var root plumbing.Hash
	if change.Parent != "" {
		if root, err = r.rootOf(change.Parent); err != nil {
			return Commit{}, fmt.Errorf("commit on %s: %w", change.Parent, err)
		}
	}
	b := builder{repo: r}
	tree, err := b.rewrite(root, wanted, "")
	switch {
	case err != nil:
		return Commit{}, fmt.Errorf("commit: %w", err)
	case tree == root:
		return Commit{}, fmt.Errorf("commit: %w", ErrNothingToCommit)
	}
	c := object.Commit{
		Author:    object.Signature{Name: change.Author.Name, Email: change.Author.Email, When: change.Author.When},
		Committer: object.Signature{Name: change.Committer.Name, Email: change.Committer.Email, When: change.Committer.When},
		Message:   change.Message,
		TreeHash:  tree,
	}
	if change.Parent != "" {
		c.ParentHashes = []plumbing.Hash{plumbing.NewHash(change.Parent)}
	}
	var encoded plumbing.MemoryObject
	if err := c.Encode(&encoded); err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	hash, err := b.store(r.storeEncoded(&encoded))
	if err != nil {
		return Commit{}, fmt.Errorf("commit: %w", err)
	}
	return Commit{Hash: hash.String(), Parent: change.Parent, objects: b.made}, nil
}

// node is the files wanted in one folder and below it.
type node struct {
	files   map[string][]byte
	folders map[string]*node
}

func newNode() *node { return &node{files: map[string][]byte{}, folders: map[string]*node{}} }

// nest turns paths into folders, or returns ErrPath.
func nest(files map[string][]byte) (*node, error) {
	root := newNode()
	for _, file := range slices.Sorted(maps.Keys(files)) {
		names, err := segments(file)
		if err != nil {
			return nil, err
		}
		at := root
		for _, name := range names[:len(names)-1] {
			if _, taken := at.files[name]; taken {
				return nil, fmt.Errorf("%q goes through a file: %w", file, ErrPath)
			}
			if at.folders[name] == nil {
				at.folders[name] = newNode()
			}
			at = at.folders[name]
		}
		last := names[len(names)-1]
		if at.folders[last] != nil {
			return nil, fmt.Errorf("%q is a folder: %w", file, ErrPath)
		}
		at.files[last] = files[file]
	}
	return root, nil
}

// builder writes the trees of one commit and notes what it made.
type builder struct {
	repo *Repository
	made []plumbing.Hash
}

func (b *builder) store(hash plumbing.Hash, err error) (plumbing.Hash, error) {
	if err == nil {
		b.made = append(b.made, hash)
	}
	return hash, err
}

// rewrite returns the tree at hash with the wanted files in it. Only folders on the way to a wanted file are read.
func (b *builder) rewrite(hash plumbing.Hash, wanted *node, at string) (plumbing.Hash, error) {
	entries, err := b.repo.readTree(hash)
	if err != nil {
		return hash, err
	}
	index := make(map[string]int, len(entries))
	for i, e := range entries {
		index[e.name] = i
	}
	changed := false
	put := func(name string, fresh entry) {
		if i, ok := index[name]; ok {
			changed = changed || entries[i].hash != fresh.hash
			entries[i].hash = fresh.hash
			return
		}
		changed = true
		index[name] = len(entries)
		entries = append(entries, fresh)
	}
	for name := range wanted.files {
		if i, ok := index[name]; ok && !entries[i].regular() {
			return hash, fmt.Errorf("%q is not a regular file: %w", at+name, ErrPath)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.folders)) {
		var below plumbing.Hash
		if i, ok := index[name]; ok {
			if !entries[i].folder() {
				return hash, fmt.Errorf("%q is not a folder: %w", at+name, ErrPath)
			}
			below = entries[i].hash
		}
		folder, err := b.rewrite(below, wanted.folders[name], at+name+"/")
		if err != nil {
			return hash, err
		}
		put(name, entry{mode: modeFolder, name: name, hash: folder})
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.files)) {
		content := wanted.files[name]
		blob := plumbing.ComputeHash(plumbing.BlobObject, content)
		if i, ok := index[name]; !ok || entries[i].hash != blob {
			if _, err := b.store(b.repo.writeObject(plumbing.BlobObject, content)); err != nil {
				return hash, err
			}
		}
		put(name, entry{mode: modeFile, name: name, hash: blob})
	}
	if !changed {
		return hash, nil
	}
	return b.store(b.repo.writeTree(entries))
}

func (r *Repository) storeEncoded(o plumbing.EncodedObject) (plumbing.Hash, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.SetEncodedObject(o)
}
