package mirror

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// Refusal is an edit that has no faithful place in Git.
type Refusal struct {
	Object  manifest.Identity
	Message string // for a person, with who made the edit and why it is not in Git
}

// State returns how a target does; false when it is not mirrored.
func (m *Mirror) State(name types.NamespacedName) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.targets[name]
	if r == nil {
		return State{}, false
	}
	inHand := r.inHand.Load() // before the snapshot, which has a change from before it is counted off
	snap := r.worker.Snapshot()
	own := snap.Targets[name]
	s := State{
		Pending: own.Pending > 0, Pushed: own.Pushed,
		Tip: snap.Tip, Busy: snap.Busy || inHand > 0, QuietSince: snap.QuietSince, ForeignMoves: snap.ForeignMoves,
	}
	if own.Err != nil {
		s.PathErr = own.Err.Error()
	}
	// Without its branch a target can write nothing; else a repository that does not answer matters once something waits.
	noBranch := errors.Is(snap.Err, gitstore.ErrBranchNotFound) || errors.Is(snap.Err, branch.ErrBranchGone)
	if snap.Err != nil && (s.Pending || noBranch) {
		s.PushErr = snap.Err.Error()
	}
	for _, res := range r.target.Load().Resources {
		stream := conditions.Stream{Resource: res.GroupResource().String()}
		if sub := r.subs[res]; sub != nil {
			st := sub.Status()
			stream.Synced = st.Running()
			if st.Err != nil {
				stream.Err, stream.Denied = st.Err.Error(), apierrors.IsForbidden(st.Err)
			}
		}
		s.Blind = s.Blind || !stream.Synced
		s.Streams = append(s.Streams, stream)
	}
	return s, true
}

// reportRefusals tells of each refused edit of a target once, in the log and to Refused.
func (m *Mirror) reportRefusals(ctx context.Context, name types.NamespacedName) {
	m.mu.Lock()
	r := m.targets[name]
	m.mu.Unlock()
	if r == nil {
		return
	}
	for _, refused := range r.worker.Snapshot().Targets[name].Refused {
		if refused.Sequence <= r.reported {
			continue
		}
		if missed := refused.Sequence - r.reported - 1; missed > 0 {
			m.opts.Log.Info("edits were refused faster than they could be told", "target", name, "count", missed)
		}
		r.reported = refused.Sequence
		m.opts.Metrics.refused.Inc()
		m.opts.Log.Info("edit refused", "target", name, "object", refused.Object.String(), "author", refused.Author.Name, "reason", refused.Reason)
		m.opts.Refused(ctx, name, Refusal{Object: refused.Object, Message: fmt.Sprintf(
			"an edit of %s by %s is not in Git: %s", refused.Object, refused.Author.Name, refused.Reason)})
	}
}
