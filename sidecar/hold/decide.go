package hold

import (
	"fmt"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	// recheckRefused is how often a refusal is looked at again when no watch tells of its cure.
	recheckRefused = time.Minute

	// startDeadline is how long a resumed Kustomization may stay without a run; then it is suspended again.
	startDeadline = 5 * time.Minute
)

// Decide returns the next action. First matching rule wins; the package comment argues the order.
//
// A Kustomization that is being deleted counts as gone. Whether its objects are pruned or orphaned hangs on spec.suspend at
// that moment, and that is its owner's decision.
func Decide(s Seen) Action {
	if s.Kustomization != nil && !s.Kustomization.DeletionTimestamp.IsZero() {
		s.Kustomization = nil
	}
	switch {
	case s.Trigger == nil || s.ClusterUID == "" || s.FreshToken == "":
		return Action{}
	case s.inFlight():
		return s.follow()
	case s.leaving():
		return s.leave()
	}
	if no := s.refusal(); no != nil {
		return s.refuse(*no)
	}
	switch {
	case !s.adopted():
		return Action{Verb: AddFinalizer, Reason: v1alpha1.ReasonSuspending}
	case !s.suspendedByUs():
		return s.takeHold()
	case !s.held():
		return Action{Reason: v1alpha1.ReasonSuspending, Status: s.status(s.report())}
	}
	return s.serve()
}

// refuse says why nothing is held, and answers a request that waits.
func (s Seen) refuse(no refusal) Action {
	r := s.report()
	r.reject(s.pending(), no.message)
	return Action{Reason: no.reason, Status: s.status(r), Recheck: recheckRefused}
}

// takeHold suspends a Kustomization that does not carry our whole hold: at adoption, and when somebody took a part of it
// away. Adopting one that names no holder is guarded, so that of two triggers that adopt at once the second reads again.
func (s Seen) takeHold() Action {
	act := Action{
		Verb:    Suspend,
		Token:   s.FreshToken,
		Guarded: !s.heldByUs(),
		Reason:  v1alpha1.ReasonSuspending,
		Status:  s.status(s.report()),
	}
	if s.resumedElsewhere() {
		act.Reason, act.Event = v1alpha1.ReasonResumedElsewhere, s.takenBack()
	}
	return act
}

// takenBack is the Event of a Kustomization that was resumed behind our back.
func (s Seen) takenBack() *Event {
	what := "was resumed by %s; suspended again"
	if s.Kustomization.Spec.Suspend {
		what = "was resumed for a moment by %s, and may have applied something; suspended anew"
	}
	return &Event{
		Warning: true,
		Reason:  v1alpha1.ReasonResumedElsewhere,
		Message: fmt.Sprintf("Kustomization %s "+what+". To stop holding it, delete this FluxTrigger", s.applier(), resumer(s.Kustomization)),
	}
}

// leave hands back what was adopted and lets the trigger go.
func (s Seen) leave() Action {
	r := s.report()
	why := "this trigger is being deleted"
	if s.unreferenced() {
		why = s.Binding.Message
	}
	r.reject(s.pending(), why)
	switch {
	case s.marked():
		return Action{
			Verb:   Release,
			Reason: v1alpha1.ReasonReleasing,
			Status: s.status(r),
			Again:  true,
			Event: &Event{
				Reason:  v1alpha1.ReasonReleased,
				Message: fmt.Sprintf("Kustomization %s is handed back: it applies on its own again", s.applier()),
			},
		}
	case s.adopted():
		return Action{Verb: RemoveFinalizer, Reason: v1alpha1.ReasonReleased}
	case s.unreferenced():
		return Action{Reason: v1alpha1.ReasonNotReferenced, Status: s.status(r)}
	}
	return Action{}
}

// applier returns namespace and name of the Kustomization.
func (s Seen) applier() string {
	ref := s.Trigger.Spec.KustomizationRef
	return ref.Namespace + "/" + ref.Name
}
