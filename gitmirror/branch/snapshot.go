package branch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// Snapshot is what others may know of a branch. It shares nothing with the worker; readers share it with one another and
// change nothing in it.
type Snapshot struct {
	// Tip of the remote branch as last read or pushed, a full hash. Empty while unknown, and for an empty repository.
	Tip string
	// TipKnown says that the remote was read.
	TipKnown bool
	// TipOurs says that this worker made the tip. It is false after a restart.
	TipOurs bool
	// ForeignMoves counts how often the tip was found moved by somebody else.
	ForeignMoves int
	// QuietSince is when the newest edit came, or the tip last moved. Zero before either.
	QuietSince time.Time
	// Busy says that a commit window is open or a write is not pushed, be it that of a target that cannot be planned.
	Busy bool
	// Targets are those that write to this branch, with removed ones that still have something to push.
	Targets map[types.NamespacedName]TargetState
	// Err is why the repository cannot be read or written; nil while it can. Everything is kept and tried again.
	Err error
	// ErrSince is when Err's series of failures began.
	ErrSince time.Time
}

// with returns s as it is once an edit that waits in the inbox has reached the core.
func (s Snapshot) with(e Edited) Snapshot {
	s.Busy = true
	s.QuietSince = later(s.QuietSince, e.Now)
	return s
}

// TargetState is what others may know of one target on the branch.
type TargetState struct {
	// Pushed is the newest commit made for the target that the remote branch shows; empty before the first.
	Pushed string
	// Pending is how many writes wait to be pushed.
	Pending int
	// Refused are the newest intents that were left out of a commit, oldest first, at most 1000.
	Refused []Refused
	// Err is why the target's folder cannot be written, such as manifest.ErrKustomizeFolder; its writes are kept.
	Err error
}

// Refused is an intent that has no faithful place in Git.
type Refused struct {
	manifest.Refusal
	// Sequence counts the target's refusals from 1.
	Sequence uint64
	Author   author.Author
	At       time.Time // when the rest of its write was settled
}

// Snapshot returns what others may know.
func (s State) Snapshot() Snapshot {
	out := Snapshot{
		Tip: s.tip, TipKnown: s.tipKnown, TipOurs: s.tipOurs, ForeignMoves: s.foreign,
		QuietSince: s.quietSince, Busy: s.windows.Open() > 0 || len(s.writes) > 0,
		Targets: make(map[types.NamespacedName]TargetState, len(s.targets)),
		Err:     s.err, ErrSince: s.errSince,
	}
	for name, t := range s.targets {
		out.Targets[name] = TargetState{Pushed: t.pushed, Refused: slices.Clip(t.refused), Err: t.err}
	}
	for _, w := range s.writes {
		t := out.Targets[w.Target]
		t.Pending++
		out.Targets[w.Target] = t
	}
	return out
}
