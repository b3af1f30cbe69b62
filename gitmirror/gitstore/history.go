package gitstore

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// MaxHistory is how many commits Walk looks at.
const MaxHistory = 10_000

// Walk calls visit for the commits of a history, the tip first and parents after their children's siblings, until visit
// returns false, MaxHistory commits were seen, or none is left. It does not go past stop, nor visit it; an empty stop means
// the beginning. The tip must have been fetched.
func (r *Repository) Walk(tip, stop string, visit func(hash, message string) bool) error {
	queue := []plumbing.Hash{plumbing.NewHash(tip)}
	seen := map[plumbing.Hash]bool{plumbing.NewHash(stop): true}
	for n := 0; len(queue) > 0 && n < MaxHistory; n++ {
		hash := queue[0]
		queue = queue[1:]
		if seen[hash] {
			continue
		}
		seen[hash] = true
		commit, err := r.readCommit(hash)
		if err != nil {
			return fmt.Errorf("walk the history of %s: %w", tip, err)
		}
		if !visit(hash.String(), commit.Message) {
			return nil
		}
		queue = append(queue, commit.ParentHashes...)
	}
	return nil
}

func (r *Repository) readCommit(hash plumbing.Hash) (*object.Commit, error) {
	raw, err := r.readObject(plumbing.CommitObject, hash, maxCommit)
	if err != nil {
		return nil, err
	}
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(plumbing.CommitObject)
	if _, err := encoded.Write(raw); err != nil {
		return nil, err
	}
	commit := &object.Commit{}
	if err := commit.Decode(encoded); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode commit %s: %w", hash, err)
	}
	return commit, nil
}
