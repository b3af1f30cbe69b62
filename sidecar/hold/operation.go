package hold

import (
	"fmt"
	"slices"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// maxHistory bounds the finished operations kept.
const maxHistory = 20

// follow takes an operation in flight one step further. Nothing but the vanishing of the Kustomization ends it early: also a
// trigger that is leaving or refused follows what it resumed to the end.
func (s Seen) follow() Action {
	op, k := *s.Trigger.Status.Operation, s.Kustomization
	switch {
	case k == nil:
		return s.finish(op, failed(v1alpha1.ReasonApplierNotFound, "Kustomization %s was deleted before the operation ended", s.applier()))
	case string(k.UID) != op.ApplierUID:
		return s.finish(op, failed(v1alpha1.ReasonApplierNotFound, "Kustomization %s was deleted and made anew before the operation ended", s.applier()))
	case op.Phase == v1alpha1.OperationRequested && k.Spec.Suspend && requested(k) != op.Token:
		return s.resume(op)
	case op.Phase == v1alpha1.OperationSettling && k.Spec.Suspend && ownsSuspend(k) && requested(k) == op.SuspendToken:
		if k.Status.LastHandledReconcileAt != op.SuspendToken {
			return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op))}
		}
		return s.finish(op, Judge(&op, k, s.tip()))
	case op.Phase != v1alpha1.OperationSettling && !k.Spec.Suspend && requested(k) == op.Token && !started(&op, k):
		return s.running(op)
	}
	return s.settle(op)
}

// resume lifts the suspend for a recorded operation, or withdraws it when what it rests on is gone. It runs again after a
// conflict and after a crash: the token is the record's, so a resume that did land is recognised instead of repeated. Held
// means that no run is left, so a baseline that has not moved by then shows that none has been; only such a record is
// withdrawn.
func (s Seen) resume(op v1alpha1.Operation) Action {
	no := s.refusal()
	switch {
	case !s.suspendedByUs():
		return s.settle(op) // a part of the hold was taken away since the record, so something may have run
	case !s.held():
		return Action{Reason: v1alpha1.ReasonSuspending, Status: s.status(s.reportOn(&op))}
	case traces(op.Before, s.Kustomization):
		return s.finish(op, Judge(&op, s.Kustomization, s.tip())) // the resume landed, and its answer was lost
	case s.leaving():
		return s.withdraw(op, v1alpha1.OutcomeRejected, "the trigger hands its Kustomization back")
	case no != nil:
		return s.withdraw(op, v1alpha1.OutcomeRejected, no.message)
	case !isAt(artifactRevision(s.GitRepository), op.Commit):
		return s.withdraw(op, v1alpha1.OutcomeStale, "the source went on to "+artifactRevision(s.GitRepository))
	}
	act := s.running(op)
	act.Verb, act.Token, act.Guarded = Resume, op.Token, true
	return act
}

// tip returns the revision that may stand for an operation's commit because the branch went on: what the source holds now,
// as long as that is what the trigger is bound to. Otherwise nothing may.
func (s Seen) tip() string {
	if !s.Binding.Bound {
		return ""
	}
	return artifactRevision(s.GitRepository)
}

// running says that the Kustomization is resumed, and comes back when it should long have started. A start far in the
// future is another clock's; then nobody knows how long it has been.
func (s Seen) running(op v1alpha1.Operation) Action {
	if op.StartedAt == nil {
		at := instant(s.Now)
		op.StartedAt = &at
	}
	left := op.StartedAt.Add(startDeadline).Sub(s.Now)
	if left <= 0 || left > 2*startDeadline {
		return s.settle(op)
	}
	op.Phase = v1alpha1.OperationRunning
	op.Message = "resumed; waiting for kustomize-controller to start"
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Recheck: left}
}

// settle suspends what the operation resumed, with a token of its own: at the start of the run, at the deadline, and again
// whenever that suspend is not the newest word on the Kustomization.
func (s Seen) settle(op v1alpha1.Operation) Action {
	if op.StartedAt == nil {
		at := instant(s.Now)
		op.StartedAt = &at
	}
	op.Phase = v1alpha1.OperationSettling
	op.SuspendToken = s.FreshToken
	op.Message = "suspended; waiting for kustomize-controller to end the run and handle that"
	act := Action{Verb: Suspend, Token: s.FreshToken, Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op))}
	if s.resumedElsewhere() {
		act.Reason, act.Event = v1alpha1.ReasonResumedElsewhere, s.takenBack()
	}
	return act
}

// finish writes the verdict, the answer and the history at once, so that none is ever seen without the others.
func (s Seen) finish(op v1alpha1.Operation, v Verdict) Action {
	at := instant(s.Now)
	op.Phase, op.FinishedAt, op.Message = v.Phase, &at, status.Message("%s", v.Message)
	if k := s.Kustomization; k != nil && string(k.UID) == op.ApplierUID {
		op.AppliedRevision = k.Status.LastAppliedRevision
	}
	r := s.reportOn(&op)
	r.history = append([]v1alpha1.Operation{op}, r.history...)
	r.history = r.history[:min(len(r.history), maxHistory)]
	r.handled = answer(op)
	e := &Event{Reason: v1alpha1.ReasonApplied, Message: fmt.Sprintf("Kustomization %s: %s (%s)", s.applier(), v.Message, op.Reason)}
	if v.Phase == v1alpha1.OperationFailed {
		e.Warning, e.Reason = true, v1alpha1.ReasonApplyFailed
		e.Message = fmt.Sprintf("Kustomization %s, commit %s (%s): %s", s.applier(), op.Commit, op.Reason, v.Message)
	}
	return Action{Reason: v.Reason, Status: s.status(r), Event: e}
}

// withdraw takes an operation back that was never resumed, and puts back what its record displaced.
func (s Seen) withdraw(op v1alpha1.Operation, o v1alpha1.RequestOutcome, why string) Action {
	var before *v1alpha1.Operation
	if h := s.Trigger.Status.History; len(h) > 0 {
		before = &h[0]
	}
	r := s.reportOn(before)
	r.handled = &v1alpha1.HandledRequest{ID: op.RequestID, Outcome: o, Message: why}
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(r)}
}

// answer returns what a finished operation answers to its request.
func answer(op v1alpha1.Operation) *v1alpha1.HandledRequest {
	o := v1alpha1.OutcomeSucceeded
	if op.Phase == v1alpha1.OperationFailed {
		o = v1alpha1.OutcomeFailed
	}
	return &v1alpha1.HandledRequest{ID: op.RequestID, Outcome: o, Token: op.Token, Message: op.Message}
}

// ranBefore returns the finished operation that carried out the request of that id, or nil.
func (s Seen) ranBefore(id string) *v1alpha1.Operation {
	h := s.Trigger.Status.History
	if i := slices.IndexFunc(h, func(op v1alpha1.Operation) bool { return op.RequestID == id }); i >= 0 {
		return &h[i]
	}
	return nil
}
