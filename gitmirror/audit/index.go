package audit

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

// Defaults of an Index. A fact takes about 450 bytes, so a full index takes about 90 MB.
const (
	DefaultIndexSize = 200_000
	DefaultIndexTTL  = 15 * time.Minute
)

// Index keeps the facts of one cluster for as long as a change may still ask for them. It is bounded in number and in
// time; the least recently used fact goes first. Safe for concurrent use.
type Index struct {
	facts *expirable.LRU[fact.Key, entry]

	mu          sync.Mutex
	first, last time.Time
	unexpected  bool
	listeners   map[chan struct{}]struct{}
}

// entry is a fact, or the knowledge that two people may have made a version and neither is proven to have.
type entry struct {
	fact      fact.Fact
	contested bool
}

// NewIndex returns an Index of at most size facts, each kept for ttl. It is meant to live as long as the process: the
// goroutine that drops old facts cannot be stopped.
func NewIndex(size int, ttl time.Duration) *Index {
	return &Index{
		facts:     expirable.NewLRU[fact.Key, entry](size, nil, ttl),
		listeners: map[chan struct{}]struct{}{},
	}
}

// Add keeps the facts among the readings and returns how many of them were known already, as they are when the API
// server sends a batch again. now is when they arrived, UTC.
func (x *Index) Add(readings []fact.Reading, now time.Time) (repeated int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	added := false
	for _, r := range readings {
		if r.Outcome != fact.Proves {
			continue
		}
		added = true
		known, ok := x.facts.Peek(r.Key)
		switch {
		case !ok:
			x.facts.Add(r.Key, entry{fact: r.Fact})
		case known.fact == r.Fact:
			repeated++
		case r.Key == fact.DeletionOf(r.Key.UID):
			// An object that waits for its finalizers can be deleted many times; the first one did it.
		default:
			writer, proven := fact.Writer(known.fact, r.Fact)
			x.facts.Add(r.Key, entry{fact: writer, contested: known.contested || !proven})
		}
	}
	if !added {
		return 0
	}
	if x.first.IsZero() {
		x.first = now
	}
	x.last = now
	for listener := range x.listeners {
		select {
		case listener <- struct{}{}:
		default: // it is about to look anyway
		}
	}
	return repeated
}

// Lookup returns the fact about exactly that key, and false when there is none or when two people may be meant.
func (x *Index) Lookup(key fact.Key) (fact.Fact, bool) {
	e, ok := x.facts.Get(key)
	if !ok || e.contested {
		return fact.Fact{}, false
	}
	return e.fact, true
}

// Received returns when the first and the latest fact arrived, UTC; zero: none ever did.
func (x *Index) Received() (first, last time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.first, x.last
}

// Expect says whether audit events are to be expected of a cluster that has sent none since the start; until it is called
// they are.
func (x *Index) Expect(facts bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unexpected = !facts
}

// Expected says whether the fact about a change may still arrive: one has arrived before, or Expect said so.
func (x *Index) Expected() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.first.IsZero() || !x.unexpected
}

// Listen returns a channel that gets a value after facts were added, one for any number of them. Call stop when done.
func (x *Index) Listen() (added <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listeners[c] = struct{}{}
	return c, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.listeners, c)
	}
}
