package manifest

import (
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxIndexed bounds the documents an Index remembers over all its files, some 60 MB of names at worst.
const maxIndexed = 200_000

// Index remembers what Scan found in a blob, so that a plan reads only files it has not seen. It is bounded, forgets
// what was used longest ago, and is safe for use by several goroutines.
type Index struct {
	mu        sync.Mutex
	seen      *simplelru.LRU[string, scanned]
	documents int
}

// scanned is what Scan returned for one blob.
type scanned struct {
	docs []Document
	err  error
}

// NewIndex returns an Index of at most maxFiles blobs; it panics when maxFiles is not positive.
func NewIndex(maxFiles int) *Index {
	ix := &Index{}
	seen, err := simplelru.NewLRU(maxFiles, func(_ string, s scanned) { ix.documents -= len(s.docs) })
	if err != nil {
		panic(err)
	}
	ix.seen = seen
	return ix
}

// scan returns what is in f, reading it through t only when its blob is not known. err is t's own.
func (ix *Index) scan(t Tree, f File) (scanned, error) {
	if f.Hash != "" {
		ix.mu.Lock()
		s, ok := ix.seen.Get(f.Hash)
		ix.mu.Unlock()
		if ok {
			return s, nil
		}
	}
	var s scanned
	text, err := t.Read(f.Path)
	switch {
	case errors.Is(err, ErrUnreadable):
		s.err = err
	case err != nil:
		return scanned{}, err
	default:
		s.docs, s.err = Scan(text)
	}
	if f.Hash != "" {
		ix.remember(f.Hash, s)
	}
	return s, nil
}

func (ix *Index) remember(hash string, s scanned) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.seen.Contains(hash) {
		return
	}
	ix.documents += len(s.docs)
	ix.seen.Add(hash, s)
	for ix.documents > maxIndexed && ix.seen.Len() > 1 {
		ix.seen.RemoveOldest()
	}
}
