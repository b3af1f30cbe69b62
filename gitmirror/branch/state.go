package branch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
	"github.com/holdfast-gitops/holdfast/gitmirror/window"
)

// Edit is one edit of one object, made by one author.
type Edit struct {
	Target types.NamespacedName
	Author author.Author // Unresolved when nobody is proven
	Intent manifest.Intent
	At     time.Time // when it was made, UTC; dates the commit
	// Impersonator is the user who acted in the author's name; empty: nobody did.
	Impersonator string
}

// TargetSettings are what a GitTarget says about its part of the branch.
type TargetSettings struct {
	// Folder from the repository's root; "." is the root.
	Folder string
	// Idle and Max limit a commit window; zero in either commits each edit at once.
	Idle, Max time.Duration
	// Committer of the target's commits, also of those that wait.
	Committer author.Author
}

// Write is a commit window that closed and is to become one commit.
type Write struct {
	// ID names the write for ever; every commit made for it carries it as a trailer.
	ID      string
	Target  types.NamespacedName
	Folder  string
	Author  author.Author
	Intents []manifest.Intent // in the order the edits came
	Made    time.Time         // when the newest of them was made
	// Impersonators are the users who acted in the author's name, each once.
	Impersonators []string
	Committer     author.Author
}

// pending is a write that the remote branch is not known to show.
type pending struct {
	Write
	bytes   int64
	commit  string             // newest commit made for it; "" before the first
	asked   bool               // some push carried it, and may have arrived
	refused []manifest.Refusal // by its newest plan
}

// held is an intent in a commit window, with what it weighs.
type held struct {
	intent       manifest.Intent
	impersonator string
	bytes        int64
}

// target is what the core knows of one GitTarget.
type target struct {
	settings TargetSettings
	pushed   string
	refused  []Refused
	refusals uint64
	err      error     // why its writes cannot be planned
	retryAt  time.Time // when they are planned again, unless the tip moves before
	removed  bool      // gone once its writes are
}

// step is how far a round trip got; a later one includes the earlier.
type step int

const (
	idle step = iota
	syncing
	committing
	pushing
)

// Config is what never changes for a State.
type Config struct {
	// Prefix of write IDs. No other process that ever wrote this branch may have had it.
	Prefix string
	// Poll is how often the remote tip is looked at when nothing else does.
	Poll time.Duration
}

// State is everything the core knows. Step consumes it.
type State struct {
	config  Config
	targets map[types.NamespacedName]*target
	windows window.State[held]
	writes  []*pending // in the order they were decided
	named   uint64     // writes named so far
	bytes   int64      // of all windows and writes

	tip      string // "" while the repository is empty
	tipKnown bool
	tipOurs  bool
	foreign  int // moves of the tip by others
	// doubtBase is the tip on which the oldest push that may have arrived was made: what arrived is above it.
	doubtBase string

	doing      step
	disowned   bool     // what is under way was asked of a repository that is written no more
	sent       []string // commits of the push that is or was last under way
	syncDue    bool
	nextPoll   time.Time
	quietSince time.Time
	stopping   bool

	err      error
	errSince time.Time
	failed   step // where err happened
	failures int  // in a row
	moves    int  // pushes in a row that found the branch moved
	retryAt  time.Time
}

// NewState returns the state of a branch nothing is known of.
func NewState(c Config) State {
	return State{config: c, targets: map[types.NamespacedName]*target{}}
}

// NextAt returns when Ticked is next worth sending; false when only another event changes anything.
func (s State) NextAt() (time.Time, bool) {
	at, ok := s.windows.NextAt()
	add := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	switch {
	case s.doing != idle:
	case s.failures > 0:
		add(s.retryAt)
	default:
		if !s.stopping {
			add(s.nextPoll)
		}
		for _, w := range s.writes {
			if t := s.targets[w.Target]; t.err != nil {
				add(t.retryAt)
			}
		}
	}
	return at, ok
}

// Bytes returns the weight of all edits that are not settled.
func (s State) Bytes() int64 { return s.bytes }

// Drained says whether nothing is left that could still be pushed: no open commit window, nothing in flight, and no write
// but those of targets that cannot be planned.
func (s State) Drained() bool {
	return s.windows.Open() == 0 && s.doing == idle && !s.plannable()
}
