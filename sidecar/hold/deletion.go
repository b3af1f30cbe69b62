package hold

import (
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// deletion decides on a held Kustomization that somebody deletes. Flux prunes nothing while it is suspended, and lets it go
// in the same breath; our finalizer is what keeps it until this is decided. What spec.onDelete says is done before the
// trigger hands anything back or refuses anything, because nobody else can do it any more.
func (s Seen) deletion() Action {
	if s.leftover() {
		return Action{Verb: GiveUp, Guarded: true, Reason: v1alpha1.ReasonApplierDeleted, Again: true}
	}
	if s.Trigger.Spec.OnDelete == v1alpha1.OnDeleteOrphan {
		return s.orphan()
	}
	op := v1alpha1.Operation{
		Origin:      v1alpha1.OriginDeletion,
		Phase:       v1alpha1.OperationRequested,
		Commit:      CommitOf(s.Kustomization.Status.LastAppliedRevision),
		Token:       s.FreshToken,
		ApplierUID:  string(s.Kustomization.UID),
		Controller:  s.Controller.Leader,
		Before:      BaselineOf(s.Kustomization),
		RequestedAt: instant(s.Now),
		Message:     s.deleted(fmt.Sprintf("Flux is let do with what it applied as its deletionPolicy says (%s)", s.Kustomization.GetDeletionPolicy())),
	}
	return Action{Reason: v1alpha1.ReasonApplierDeleted, Status: s.status(s.reportOn(&op)), Again: true}
}

// orphan lets the Kustomization go once Flux has let it go while it was suspended.
func (s Seen) orphan() Action {
	k := s.Kustomization
	switch {
	case !s.suspendedByUs():
		return s.takeHold()
	case slices.Contains(k.Finalizers, kustomizev1.KustomizationFinalizer):
		r := s.report()
		r.progress = fmt.Sprintf("Kustomization %s is being deleted; waiting for kustomize-controller to let it go", s.applier())
		return Action{Reason: v1alpha1.ReasonApplierDeleted, Status: s.status(r)}
	}
	return Action{
		Verb:    GiveUp,
		Guarded: true,
		Reason:  v1alpha1.ReasonApplierDeleted,
		Event: &Event{
			Warning: true,
			Reason:  v1alpha1.ReasonApplierDeleted,
			Message: s.deleted("what it applied is left in place (spec.onDelete: Orphan)"),
		},
	}
}

// followDeletion takes a deletion that lets Flux prune to its end: the token handled, and Flux's own finalizer gone, which
// a prune that failed keeps.
func (s Seen) followDeletion(op v1alpha1.Operation) Action {
	k := s.Kustomization
	switch {
	case k == nil || string(k.UID) != op.ApplierUID:
		return s.finish(op)
	case s.pastRelease():
		return s.abandonForRelease(op)
	case k.DeletionTimestamp.IsZero(): // it never was: nobody takes a deletion back
		op.Abandoned = v1alpha1.ReasonNothingRan
		return s.finish(op)
	case k.Spec.Suspend || requested(k) != op.Token:
		if op.StartedAt == nil {
			at := instant(s.Now)
			op.StartedAt = &at
		}
		op.Phase = v1alpha1.OperationRunning
		return Action{Verb: Resume, Token: op.Token, Guarded: true, Reason: v1alpha1.ReasonApplierDeleted, Status: s.status(s.reportOn(&op))}
	case k.Status.LastHandledReconcileAt == op.Token && !slices.Contains(k.Finalizers, kustomizev1.KustomizationFinalizer):
		return Action{Verb: GiveUp, Guarded: true, Reason: v1alpha1.ReasonApplierDeleted, Again: true} // gone, it ends
	}
	if act, late := s.unresolved(op); late {
		return act
	}
	if op.Phase == v1alpha1.OperationRequested {
		op.Phase = v1alpha1.OperationRunning
	}
	return s.waitOn(op)
}

// deleted says for people what becomes of a held Kustomization that goes. While it is there its objects can be counted.
func (s Seen) deleted(what string) string {
	n := 0
	if inv := s.Kustomization.Status.Inventory; inv != nil {
		n = len(inv.Entries)
	}
	return fmt.Sprintf("Kustomization %s was deleted while it was held, with %d objects in its inventory: %s", s.applier(), n, what)
}
