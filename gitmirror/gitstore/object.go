package gitstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// entry is one line of a tree object. The mode is kept as it is written, so that a tree keeps the lines nobody changed.
type entry struct {
	mode string
	name string
	hash plumbing.Hash
}

const (
	modeFolder = "40000"
	modeFile   = "100644"
)

func (e entry) folder() bool { return e.mode == modeFolder || e.mode == "040000" }

// regular excludes symlinks and submodules.
func (e entry) regular() bool { return len(e.mode) == 6 && e.mode[:3] == "100" }

// order is Git's: a folder sorts as if its name ended in a slash.
func (e entry) order() string {
	if e.folder() {
		return e.name + "/"
	}
	return e.name
}

// maxTree bounds the bytes of one tree object, some 300 000 entries.
const maxTree = 16 << 20

// readTree returns the entries of a tree; the zero hash is an empty one.
func (r *Repository) readTree(hash plumbing.Hash) ([]entry, error) {
	if hash.IsZero() {
		return nil, nil
	}
	raw, err := r.readObject(plumbing.TreeObject, hash, maxTree)
	if err != nil {
		return nil, err
	}
	var out []entry
	for len(raw) > 0 {
		space := bytes.IndexByte(raw, ' ')
		null := bytes.IndexByte(raw, 0)
		if space < 0 || null < space || len(raw) < null+1+len(plumbing.ZeroHash) {
			return nil, fmt.Errorf("tree %s is malformed", hash)
		}
		e := entry{mode: string(raw[:space]), name: string(raw[space+1 : null])}
		raw = raw[null+1:]
		raw = raw[copy(e.hash[:], raw):]
		out = append(out, e)
	}
	return out, nil
}

// writeTree stores the entries in Git's order and returns the tree's hash.
func (r *Repository) writeTree(entries []entry) (plumbing.Hash, error) {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.order(), b.order()) })
	var raw bytes.Buffer
	for _, e := range entries {
		raw.WriteString(e.mode + " " + e.name + "\x00")
		raw.Write(e.hash[:])
	}
	return r.writeObject(plumbing.TreeObject, raw.Bytes())
}

// readObject returns an object's content, or ErrTooLarge when it has more than maxBytes.
func (r *Repository) readObject(kind plumbing.ObjectType, hash plumbing.Hash, maxBytes int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	size, err := r.store.EncodedObjectSize(hash)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, hash, err)
	}
	if size > maxBytes {
		return nil, fmt.Errorf("%s %s has %d bytes, more than %d: %w", kind, hash, size, maxBytes, ErrTooLarge)
	}
	object, err := r.store.EncodedObject(kind, hash)
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, hash, err)
	}
	reader, err := object.Reader()
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, hash, err)
	}
	content, err := io.ReadAll(io.LimitReader(reader, maxBytes))
	if err := errors.Join(err, reader.Close()); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, hash, err)
	}
	return content, nil
}

func (r *Repository) writeObject(kind plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	object := &plumbing.MemoryObject{}
	object.SetType(kind)
	if _, err := object.Write(content); err != nil {
		return plumbing.ZeroHash, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	hash, err := r.store.SetEncodedObject(object)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("write %s: %w", kind, err)
	}
	return hash, nil
}
