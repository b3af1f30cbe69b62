package hold

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// leave hands back what was adopted and lets the trigger go.
func (s Seen) leave() Action {
	r := s.report()
	r.reject(s.pending(), s.whyLeaving())
	switch k := s.Kustomization; {
	case s.marked() && !k.DeletionTimestamp.IsZero() && s.Trigger.Spec.OnDelete == v1alpha1.OnDeleteOrphan:
		return s.letGo("it is being deleted and kept suspended by spec.onDelete: Orphan, and kustomize-controller does not let it go")
	case s.marked():
		if heir := s.heir(); heir != nil {
			return s.bequeath(*heir, r)
		}
		return s.release(r)
	case s.bequeathed() && s.adopted() && !s.pastRelease():
		return Action{Reason: v1alpha1.ReasonReleasing, Status: s.status(r)}
	case s.adopted():
		return Action{Verb: RemoveFinalizer, Reason: v1alpha1.ReasonReleased}
	case s.unreferenced():
		return Action{Reason: v1alpha1.ReasonNotReferenced, Status: s.status(r)}
	}
	return Action{}
}

// release hands the Kustomization back, and says in r that it did. What another manager keeps suspended by applying the
// field stays as that manager has it: resuming it would only be undone.
func (s Seen) release(r report) Action {
	act := Action{Verb: Release, Guarded: true, Reason: v1alpha1.ReasonReleasing, Status: s.status(r), Again: true}
	left := "it applies on its own again"
	switch by := suspendApplier(s.Kustomization); {
	case by != "":
		act.Verb = GiveUp
		left = fmt.Sprintf("field manager %s applies spec.suspend, and says whether it runs", by)
	case s.leftover():
		act.Verb, left = GiveUp, "no holder keeps it suspended"
	}
	act.Event = &Event{Reason: v1alpha1.ReasonReleased, Message: fmt.Sprintf("Kustomization %s is handed back: %s", s.applier(), left)}
	return act
}

// leftover says that only our finalizer is on a Kustomization that this trigger is not known to have held, such as one that
// came back from a cache or a backup: whether it is suspended is somebody else's word.
func (s Seen) leftover() bool {
	return !s.adopted() && !s.wasHeld() && !s.heldByUs() && !ownership.Suspend(s.Kustomization)
}

func (s Seen) whyLeaving() string {
	if s.unreferenced() {
		return s.Binding.Message
	}
	return "this trigger is being deleted"
}

// leavingSince returns since when the trigger is known to be leaving; nil: it is not, or nobody has noted it yet.
func (s Seen) leavingSince() *metav1.Time {
	switch at := s.Trigger.DeletionTimestamp; {
	case at != nil:
		return at
	case !s.leaving():
		return nil
	}
	return s.Trigger.Status.ReleasingSince
}

// pastRelease says that the hand-back has taken longer than it may.
func (s Seen) pastRelease() bool {
	at := s.Trigger.Status.ReleasingSince
	return s.leaving() && at != nil && s.since(*at) >= releaseDeadline
}

// letGo ends a hand-back that cannot be finished.
func (s Seen) letGo(why string) Action {
	return Action{
		Verb:   RemoveFinalizer,
		Reason: v1alpha1.ReasonReleaseFailed,
		Event: &Event{
			Warning: true,
			Reason:  v1alpha1.ReasonReleaseFailed,
			Message: fmt.Sprintf("Kustomization %s could not be handed back in %s and is let go as it is (%s); hand it back with: holdfast release %s/%s",
				s.applier(), releaseDeadline, why, s.Trigger.Namespace, s.Trigger.Name),
		},
	}
}

// Denied returns what follows when the server refused the action's effect, or could not be asked: why is its answer, and
// forbidden says that it is a matter of permissions. Nothing was done. The action returned may have an effect of its own.
//
// A resume that was refused leaves no record behind, once nothing of it can land any more. A hand-back that has run out of
// time ends.
func Denied(s Seen, act Action, why string, forbidden bool) Action {
	op := s.Trigger.Status.Operation
	switch {
	case s.pastRelease() && act.Verb != RemoveFinalizer:
		return s.letGo(why)
	case !forbidden && s.leaving() && !s.inFlight() && s.Trigger.Status.ReleasingSince == nil:
		r := s.report()
		r.progress = fmt.Sprintf("%s, which does not succeed, and is tried again: %s", r.held.message, why)
		return Action{Reason: v1alpha1.ReasonReleasing, Status: s.status(r)} // from here on the hand-back has an end
	case !forbidden:
		return Action{}
	case act.Verb == Resume && op.Origin != v1alpha1.OriginDeletion:
		return s.refused(*op, why)
	case act.Verb == Suspend && refusedBefore(act):
		back := s.withdraw(*op, v1alpha1.OutcomeRequestFailed, act.Status.Operation.Message) // it can do nothing at all
		if thaw, frozen := s.thaw(*op); frozen {
			back.Verb = thaw.Verb
		}
		return back
	}
	r := s.report()
	r.configured = claim{"False", v1alpha1.ReasonForbidden, fmt.Sprintf("the holder may not %s: %s; grant it what the ClusterRole holdfast-holder says", inWords(act.Verb), why)}
	if req := s.pending(); req != nil && !s.inFlight() {
		r.handled = &v1alpha1.HandledRequest{ID: req.ID, Outcome: v1alpha1.OutcomeRequestFailed, Message: r.configured.message}
	}
	return Action{Reason: v1alpha1.ReasonForbidden, Status: s.status(r)}
}

// refusedBefore says that act suspends what the server would not let the holder resume.
func refusedBefore(act Action) bool {
	return act.Status != nil && act.Status.Operation != nil && act.Status.Operation.Abandoned == v1alpha1.ReasonForbidden
}

// inWords says what an effect does.
func inWords(v Verb) string {
	switch v {
	case AddFinalizer, RemoveFinalizer:
		return "change the trigger's finalizers"
	case Fetch:
		return "ask for a fetch of the GitRepository"
	case Freeze, Thaw:
		return "change spec.suspend of the GitRepository"
	case Suspend, Resume, Release, GiveUp, Wait:
	}
	return "change the Kustomization"
}
