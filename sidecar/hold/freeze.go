package hold

import (
	"github.com/fluxcd/pkg/apis/meta"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// A controller that cancels its health checks when anything about a Kustomization changes would cancel them at our early
// suspend. There the source is suspended for the length of the operation instead, and the Kustomization once the run is
// over: no other commit can come, and nothing disturbs the checks. The freeze is in the record before it is made, so that
// whoever follows the operation lets the source go before it ends.

// freeze returns the action that freezes the source of op, or waits for it; false when it is frozen or need not be.
func (s Seen) freeze(op v1alpha1.Operation) (Action, bool) {
	g := s.Frozen
	if op.FreezeToken == "" || g == nil {
		return Action{}, false
	}
	wait := s.waitOn(op)
	switch {
	case !g.Spec.Suspend || g.Annotations[meta.ReconcileRequestAnnotation] != op.FreezeToken:
		wait.Verb, wait.Token, wait.Guarded = Freeze, op.FreezeToken, true
		return wait, true
	case g.Status.LastHandledReconcileAt != op.FreezeToken:
		return wait, true
	}
	return Action{}, false
}

// thaw returns the action that lets the source of op go; false when there is nothing of ours left on it.
func (s Seen) thaw(op v1alpha1.Operation) (Action, bool) {
	if op.FreezeToken == "" || s.Frozen == nil || !ownership.Suspend(s.Frozen) {
		return Action{}, false
	}
	return Action{Verb: Thaw, Reason: v1alpha1.ReasonApplying, Again: true}, true
}
