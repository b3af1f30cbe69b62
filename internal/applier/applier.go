package applier

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// ErrMoved says that the object is gone, is another one, or is not as it was read. Nothing was written; read and decide again.
var ErrMoved = errors.New("the object is not as it was read")

// Target is the object a write is meant for.
type Target struct {
	types.NamespacedName

	// UID of the object that was read; a write to any other fails with ErrMoved.
	UID types.UID

	// ResourceVersion that was read, when the write must not follow one by anybody else; empty: it may.
	ResourceVersion string
}

// Hold is what a suspend writes.
type Hold struct {
	By    string // who holds from then on
	Token string // of this suspend

	// ResumedBy is whose resume this suspend takes back, in the same write, so that no crash loses the name; empty: nobody's.
	ResumedBy string
}

// Applier holds and resumes. Every method is safe to repeat, and fails with ErrMoved when the target is not what was read.
type Applier interface {
	// Suspend makes h.By the holder, keeps the applier from being deleted unnoticed, and suspends it; its controller records
	// h.Token once it has seen that.
	Suspend(ctx context.Context, t Target, h Hold) error

	// Resume lets the applier run; heldBy stays the holder, and what keeps it from being deleted stays.
	Resume(ctx context.Context, t Target, heldBy, token string) error

	// Release lets the applier run on its own and gives up everything that was applied to it.
	Release(ctx context.Context, t Target) error

	// GiveUp gives up everything that was applied to the applier, and resumes nothing first.
	GiveUp(ctx context.Context, t Target) error

	// Freeze suspends the source, so that what was fetched stays; its controller records token once it has seen that.
	Freeze(ctx context.Context, source Target, token string) error

	// Thaw gives up what Freeze applied.
	Thaw(ctx context.Context, source Target) error

	// Fetch makes the source be fetched anew; its controller records token once it has done so.
	Fetch(ctx context.Context, source Target, token string) error
}
