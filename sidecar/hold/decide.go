package hold

import (
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

const (
	// recheckRefused is how often a refusal is looked at again when no watch tells of its cure.
	recheckRefused = time.Minute

	// recheckBusy is how often it is looked whether a source is in use still: who was about to record an operation on it may
	// have thought better of it, of which no watch tells.
	recheckBusy = 10 * time.Second

	// startDeadline is how long a resumed Kustomization may stay without a run; then it is suspended again.
	startDeadline = 5 * time.Minute

	// resolveDeadline is how long an operation may take from its record; then it is Unresolved, and followed all the same.
	resolveDeadline = 5 * time.Minute

	// unwatched is how long a resumed Kustomization may stay without anybody who follows it, before what it did is not
	// taken for the operation's any more.
	unwatched = time.Minute

	// releaseDeadline is how long a hand-back may take; then the Kustomization is let go as it is.
	releaseDeadline = 10 * time.Minute
)

// Decide returns the next action. First matching rule wins; the package comment argues the order.
func Decide(s Seen) Action {
	switch {
	case s.Trigger == nil || s.ClusterUID == "" || s.FreshToken == "":
		return Action{}
	case s.Controller.Elsewhere || !s.Controller.Leads:
		if act, wait := s.standBy(); wait {
			return act
		}
	}
	if k := s.Kustomization; k != nil && !k.DeletionTimestamp.IsZero() && !ownership.Finalized(k) {
		s.Kustomization = nil // it goes whatever we do
	}
	switch {
	case s.inFlight():
		return s.follow()
	case s.Kustomization != nil && !s.Kustomization.DeletionTimestamp.IsZero() && s.marked() && !s.pastRelease():
		return s.deletion()
	case s.leaving():
		return s.leave()
	case s.adopted() && s.resumedElsewhere() && !s.contested():
		return s.external()
	}
	if no := s.refusal(); no != nil {
		return s.refuse(*no)
	}
	switch {
	case !s.adopted():
		return Action{Verb: AddFinalizer, Reason: v1alpha1.ReasonSuspending}
	case !s.suspendedByUs(), s.overwritten():
		return s.takeHold()
	case !s.held():
		return s.awaitHold()
	case s.wasHeld() && traces(s.Trigger.Status.AtRest.Baseline, s.Kustomization):
		return s.unrecorded()
	}
	return s.serve()
}

// overwritten says that the suspend of the newest operation, which was handled, does not count as handled any more: a
// controller that was late wrote the token it had begun with over it. Nobody will handle that suspend a second time.
func (s Seen) overwritten() bool {
	op := s.Trigger.Status.Operation
	return op != nil && op.Phase.Final() && op.SuspendToken != "" && requested(s.Kustomization) == op.SuspendToken && !s.held()
}

// standBy is what a holder does whose controller does not lead, or does not look at this Kustomization: the holder beside
// the one that does acts. Only when nobody has acted for so long that none can be there does it suspend what an operation
// left resumed, and does it hand back what is to be handed back: then it returns false, and decides as if it were the one.
func (s Seen) standBy() (act Action, wait bool) {
	act = Action{Reason: v1alpha1.ReasonStandby}
	op := s.Trigger.Status.Operation
	switch at := s.leavingSince(); {
	case at != nil:
		act.Recheck = unwatched - s.since(*at)
		return act, act.Recheck > 0
	case !s.inFlight(), op.Origin == v1alpha1.OriginDeletion, !ResumedByUs(s.Trigger, s.Kustomization):
		return act, true
	}
	bound := startDeadline + unwatched
	if op.FreezeToken != "" {
		bound += s.Kustomization.GetTimeout() // whoever follows it lets its health checks end
	}
	if act.Recheck = bound - s.since(resumedAt(op)); act.Recheck <= 0 {
		act.Verb, act.Token, act.Recheck = Suspend, s.FreshToken, 0
	}
	return act, true
}

// refuse says why nothing is held, and answers a request that waits.
func (s Seen) refuse(no refusal) Action {
	r := s.report()
	r.reject(s.pending(), no.message)
	act := Action{Reason: no.reason, Status: s.status(r), Recheck: recheckRefused}
	if no.reason == v1alpha1.ReasonSuspendOwnedElsewhere && !s.saidConfigured(no.reason) {
		act.Event = &Event{Warning: true, Reason: no.reason, Message: no.message}
	}
	return act
}

// takeHold suspends a Kustomization that does not carry our whole hold: at adoption, and when somebody took a part of it
// away. Adopting one that names no holder is guarded, so that of two triggers that adopt at once the second reads again.
func (s Seen) takeHold() Action {
	return Action{
		Verb:      Suspend,
		Token:     s.FreshToken,
		ResumedBy: s.untold(), // it stays until it is said
		Guarded:   !s.heldByUs(),
		Reason:    v1alpha1.ReasonSuspending,
		Status:    s.status(s.report()),
	}
}

// awaitHold waits for kustomize-controller to handle the suspend. One that is not handled for long is sent anew: it may have
// been, and the token written over by a controller that led before and was late.
func (s Seen) awaitHold() Action {
	if s.Waited >= resolveDeadline {
		return s.takeHold()
	}
	return Action{Reason: v1alpha1.ReasonSuspending, Status: s.status(s.report()), Recheck: resolveDeadline - s.Waited}
}

// applier returns namespace and name of the Kustomization.
func (s Seen) applier() string {
	ref := s.Trigger.Spec.KustomizationRef
	return ref.Namespace + "/" + ref.Name
}
