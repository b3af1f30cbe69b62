package hold

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// follow takes an operation in flight one step further. Nothing but the vanishing of the Kustomization ends it early: also a
// trigger that is leaving or refused follows what it resumed to the end, or until its hand-back has run out of time. One that
// is deleted is suspended at once, whether its run has started or not: Flux prunes what it finds resumed, whatever
// spec.onDelete says, and whatever a frozen source would wait for ends with the Kustomization.
func (s Seen) follow() Action {
	op, k := *s.Trigger.Status.Operation, s.Kustomization
	sent := op.SuspendToken != ""
	switch {
	case op.Origin == v1alpha1.OriginDeletion:
		return s.followDeletion(op)
	case k == nil || string(k.UID) != op.ApplierUID:
		return s.finish(op)
	case s.pastRelease():
		return s.abandonForRelease(op)
	case !sent && op.Phase == v1alpha1.OperationRequested && k.Spec.Suspend && requested(k) != op.Token:
		return s.resume(op)
	case sent && k.Spec.Suspend && ownership.Suspend(k) && requested(k) == op.SuspendToken:
		return s.settling(op)
	case !sent && !k.Spec.Suspend && requested(k) == op.Token && s.unfollowed(op):
		op.Abandoned = v1alpha1.ReasonOperationUnfollowed
		act := s.settle(op)
		act.Event = s.tellUnfollowed(op)
		return act
	case !sent && !k.Spec.Suspend && requested(k) == op.Token && !s.over(op) && !s.leaving() && k.DeletionTimestamp.IsZero():
		return s.running(op)
	}
	return s.settle(op)
}

// resume lifts the suspend for a recorded operation, unless what it rests on is gone. It runs again after a conflict and
// after a crash: the token is the record's, so a resume that did land is recognised instead of repeated. A record whose
// resume must not happen any more is suspended anew before it is withdrawn: a resume that was sent and never answered
// could still land, and does not pass a write that came after it was made.
func (s Seen) resume(op v1alpha1.Operation) Action {
	switch why := s.whyNot(op); {
	case !s.suspendedByUs():
		return s.settle(op) // a part of the hold was taken away since the record, so something may have run
	case !s.held() && s.since(op.RequestedAt) < resolveDeadline:
		op.Message = "recorded; waiting for kustomize-controller to handle the token on the Kustomization"
		return s.waitOn(op)
	case leftRun(&op, s.Kustomization), why != nil:
		return s.settle(op)
	case traces(op.Before, s.Kustomization):
		op.Before = BaselineOf(s.Kustomization) // a controller that led before wrote late what it had begun before the record
		return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}
	}
	if act, freezing := s.freeze(op); freezing {
		return act
	}
	act := s.running(op)
	if act.Verb == Wait {
		act.Verb, act.Token, act.Guarded = Resume, op.Token, true
	}
	return act
}

// whyNot returns the answer to a request whose record may not be resumed any more; nil: it may.
func (s Seen) whyNot(op v1alpha1.Operation) *v1alpha1.HandledRequest {
	a := &v1alpha1.HandledRequest{ID: op.RequestID, Outcome: v1alpha1.OutcomeRejected}
	no := s.refusal()
	switch {
	case s.leaving():
		a.Message = "the trigger hands its Kustomization back"
	case no != nil:
		a.Message = no.message
	case !isAt(artifactRevision(s.GitRepository), op.Commit):
		a.Outcome, a.Message = v1alpha1.OutcomeStale, "the source went on to "+artifactRevision(s.GitRepository)
	case op.SpecDigest != "" && op.SpecDigest != SpecDigest(s.Kustomization):
		a.Outcome, a.Message = v1alpha1.OutcomeRequestFailed, "the spec of the Kustomization changed after the operation was recorded"
	case s.since(op.RequestedAt) >= resolveDeadline:
		a.Outcome, a.Message = v1alpha1.OutcomeRequestFailed, fmt.Sprintf("it could not be resumed within %s of its record; see the logs of kustomize-controller and source-controller", resolveDeadline)
	default:
		return nil
	}
	return a
}

// tip returns the revision that may stand for an operation's commit because the branch went on: what the source holds now,
// as long as that is what the trigger is bound to. Otherwise nothing may.
func (s Seen) tip() string {
	if !s.Binding.Bound {
		return ""
	}
	return artifactRevision(s.GitRepository)
}

// running says that the Kustomization is resumed, and comes back when it should long have started.
func (s Seen) running(op v1alpha1.Operation) Action {
	if op.StartedAt == nil {
		at := instant(s.Now)
		op.StartedAt = &at
	}
	left := startDeadline - s.since(*op.StartedAt)
	op.Message = "resumed; waiting for kustomize-controller to start"
	if op.FreezeToken != "" && (left > 0 || started(&op, s.Kustomization)) {
		op.Message = "resumed with its source frozen; waiting for kustomize-controller to end the run"
		if act, late := s.unresolved(op); late {
			return act
		}
	} else if left <= 0 {
		return s.settle(op)
	}
	if op.Phase == v1alpha1.OperationRequested {
		op.Phase = v1alpha1.OperationRunning
	}
	act := s.waitOn(op)
	act.Recheck = max(left, time.Second)
	return act
}

// over says that the time to suspend has come: a run has started. Where a suspend would disturb the run, it has ended.
func (s Seen) over(op v1alpha1.Operation) bool {
	if op.FreezeToken == "" {
		return started(&op, s.Kustomization)
	}
	return ended(&op, s.Kustomization)
}

// settle suspends what the operation resumed, with a token of its own: at the start of the run, at the deadline, and again
// whenever that suspend is not the newest word on the Kustomization.
func (s Seen) settle(op v1alpha1.Operation) Action {
	by := s.elsewhere(op)
	if op.Phase != v1alpha1.OperationUnresolved {
		op.Phase = v1alpha1.OperationSettling
	}
	op.SuspendToken = s.FreshToken
	if k := s.Kustomization; op.SpecDigest != "" && op.SpecDigest != SpecDigest(k) {
		op.SpecDigest = specUnknown // also when it is put back later: what ran may be either
	}
	if s.Controller.LedFor >= s.Controller.Lease {
		op.Controller = s.Controller.Leader // until then the one before may be in the middle of what it began
	}
	if op.Abandoned != v1alpha1.ReasonForbidden {
		op.Message = "suspended; waiting for kustomize-controller to end the run and handle that"
	}
	if by != "" && op.Origin != v1alpha1.OriginExternal {
		op.By = byWhom(by) // an Event can be lost
	}
	act := Action{Verb: Suspend, Token: s.FreshToken, Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op))}
	if by != "" {
		act.Reason, act.Event, act.ResumedBy = v1alpha1.ReasonResumedElsewhere, s.takenBack(by), byWhom(by)
	}
	return act
}

// elsewhere returns who else resumed the Kustomization, if anybody did: since the holder wrote last, or before it took that
// back with a suspend of which the record of op does not know, because the holder was killed or never had its answer.
func (s Seen) elsewhere(op v1alpha1.Operation) string {
	switch k := s.Kustomization; {
	case s.resumedElsewhere():
		return resumer(k)
	case requested(k) != op.SuspendToken && (op.StartedAt != nil || op.SuspendToken != "" || leftRun(&op, k)):
		if by := s.untold(); by != op.By { // it has been said of this operation
			return by
		}
	}
	return ""
}

// refused suspends anew what the server would not let the holder resume: an earlier resume, of this holder or of the one
// before, may be on its way still. When that is handled the record is withdrawn, unless something did run.
func (s Seen) refused(op v1alpha1.Operation, why string) Action {
	op.Abandoned, op.Message = v1alpha1.ReasonForbidden, status.Message("%s", why)
	return s.settle(op)
}

// settling waits until the suspend is handled, and ends the operation then. Where another process leads than the one that
// was to handle it, a suspend handled proves nothing of the old one, which may believe for one lease more that it leads:
// that lease is waited out, and a fresh suspend sent.
func (s Seen) settling(op v1alpha1.Operation) Action {
	c := s.Controller
	another := op.Controller != c.Leader
	switch {
	case another && c.LedFor >= c.Lease:
		return s.settle(op) // also when the token is not handled: the one before may have written an older one over it
	case s.Kustomization.Status.LastHandledReconcileAt != op.SuspendToken:
		if act, late := s.unresolved(op); late {
			return act
		}
		return s.waitOn(op)
	case another:
		op.Message = "another kustomize-controller leads; waiting until the one before cannot write any more"
		act := s.waitOn(op)
		act.Recheck = max(c.Lease-c.LedFor, time.Second)
		return act
	}
	return s.finish(op)
}

// waitOn says how far the operation is and does nothing. It comes back when the operation becomes Unresolved.
func (s Seen) waitOn(op v1alpha1.Operation) Action {
	left := resolveDeadline - s.since(op.RequestedAt)
	if left <= 0 {
		left = s.followUp(op)
	}
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Recheck: left}
}

// unresolved says of an operation that has taken too long that it is Unresolved; false while it has time.
func (s Seen) unresolved(op v1alpha1.Operation) (Action, bool) {
	if s.since(op.RequestedAt) < resolveDeadline {
		return Action{}, false
	}
	was := op.Phase
	op.Phase = v1alpha1.OperationUnresolved
	act := s.waitOn(op)
	if was != v1alpha1.OperationUnresolved {
		act.Event = &Event{
			Warning: true,
			Reason:  v1alpha1.ReasonApplyUnresolved,
			Message: fmt.Sprintf("Kustomization %s, commit %s: not over after %s: %s; see the logs of kustomize-controller", s.applier(), op.Commit, resolveDeadline, op.Message),
		}
	}
	return act, true
}

// followUp returns when an Unresolved operation is looked at again: at intervals that double, up to a minute.
func (s Seen) followUp(op v1alpha1.Operation) time.Duration {
	late := s.since(op.RequestedAt) - resolveDeadline
	return min(max(late.Round(time.Second), time.Second), time.Minute)
}

// unfollowed says that a resumed Kustomization has been on its own for too long: no holder followed the operation, and what
// ran meanwhile need not be the operation's commit alone.
func (s Seen) unfollowed(op v1alpha1.Operation) bool {
	return !s.Followed && s.since(resumedAt(&op)) >= unwatched
}

// resumedAt returns when op was resumed; where that was not written down, when it was recorded.
func resumedAt(op *v1alpha1.Operation) metav1.Time {
	if op.StartedAt != nil {
		return *op.StartedAt
	}
	return op.RequestedAt
}

func (s Seen) tellUnfollowed(op v1alpha1.Operation) *Event {
	return &Event{
		Warning: true,
		Reason:  v1alpha1.ReasonOperationUnfollowed,
		Message: fmt.Sprintf("Kustomization %s, commit %s: nobody followed the operation for more than %s; suspended, and it does not count as applied", s.applier(), op.Commit, unwatched),
	}
}

// abandonForRelease ends an operation because the hand-back has run out of time: whatever still runs, runs on its own from
// here.
func (s Seen) abandonForRelease(op v1alpha1.Operation) Action {
	op.Abandoned = v1alpha1.ReasonReleaseFailed
	return s.finish(op)
}
