package branch

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// Event is what Step folds into a State.
type Event interface{ event() }

// Edited: an edit was accepted.
type Edited struct {
	Now   time.Time
	Edit  Edit
	Bytes int64 // its weight
}

// Ticked: time passed.
type Ticked struct{ Now time.Time }

// TargetSet: a target writes to this branch, as the settings say.
type TargetSet struct {
	Now      time.Time
	Target   types.NamespacedName
	Settings TargetSettings
}

// TargetRemoved: a target ends. What it collected is pushed first.
type TargetRemoved struct {
	Now    time.Time
	Target types.NamespacedName
}

// Repointed: the branch is in another repository from now on, or the same one has another address. What is not known to
// have been pushed goes there.
type Repointed struct{ Now time.Time }

// Stopped: no edit comes any more; what was collected is to be pushed now.
type Stopped struct{ Now time.Time }

// Synced answers Sync.
type Synced struct {
	Now    time.Time
	Tip    string            // "": the repository is empty
	Landed map[string]string // of the doubts, write ID to the commit found in the remote history
	Err    error
}

// Committed answers Commit.
type Committed struct {
	Now  time.Time
	Done []Done // in the order of the writes; without those that stand behind one of their target that failed
	Err  error  // nothing was done at all
}

// Done is what became of one write's plan.
type Done struct {
	Write   string
	Commit  string             // "": the branch already says so
	Refused []manifest.Refusal // intents left out of the commit
	Err     error              // the target's folder cannot be written
}

// Pushed answers Push. A nil Err means that the remote branch was read back at the last commit.
type Pushed struct {
	Now   time.Time
	Moved bool // somebody else moved the branch
	Err   error
}

func (Edited) event()        {}
func (Ticked) event()        {}
func (TargetSet) event()     {}
func (TargetRemoved) event() {}
func (Repointed) event()     {}
func (Stopped) event()       {}
func (Synced) event()        {}
func (Committed) event()     {}
func (Pushed) event()        {}

// Effect is what the shell does next. Each is answered by exactly one event, and no other starts before that.
type Effect interface{ effect() }

// Sync reads the remote tip, fetches what is new, and looks for the doubts in the history above Since.
type Sync struct {
	Since  string // "": from the beginning
	Doubts []Doubt
}

// Doubt is a write that may have arrived.
type Doubt struct {
	Write  string
	Commit string // newest commit made for it; an older one is known by its trailer only
}

// Commit plans the writes on Base, one commit each, each on the one before. A write that needs no change makes none.
type Commit struct {
	Base   string
	Writes []Write
}

// Push moves the branch from Old to the last of Commits if it is still at Old.
type Push struct {
	Old     string
	Commits []string
}

func (Sync) effect()   {}
func (Commit) effect() {}
func (Push) effect()   {}
