package mirror

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
)

// Resource is one mirrored resource as the API serves it.
type Resource struct {
	schema.GroupVersionResource
	Kind string
}

// Target is a GitTarget with everything it refers to looked up.
type Target struct {
	Name      types.NamespacedName
	Provider  types.NamespacedName // whose credentials are used
	URL       string
	Branch    string
	Folder    string // from the repository's root; "." is the root
	Committer author.Author
	Idle, Max time.Duration // of a commit window
	Resources []Resource    // watched in the target's namespace
	Triggered bool          // a trigger holds the applier of the folder
}

// State is how a target does.
type State struct {
	Streams []conditions.Stream
	Blind   bool   // a resource is not watched at this moment, so that edits of it would not be seen
	Pending bool   // commits wait to be pushed
	PushErr string // why the repository does not take them
	PathErr string // why the folder cannot be edited
	Pushed  string // newest commit pushed for the target since the start

	Tip          string // of the branch; "" while unknown
	Busy         bool   // somebody's edits wait for their author, are collected, or are not pushed
	QuietSince   time.Time
	ForeignMoves int // moves of the tip by others since the start
}
