package hold

import (
	"fmt"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// maxHistory bounds the finished operations kept.
const maxHistory = 20

// finish writes the verdict, the answer and the history at once, so that none is ever seen without the others. A source
// that was frozen for the operation is let go before. What turns out not to have run at all is withdrawn.
func (s Seen) finish(op v1alpha1.Operation) Action {
	if act, frozen := s.thaw(op); frozen {
		return act
	}
	if back, never := s.neverRan(op); never {
		return back
	}
	if op.Abandoned == v1alpha1.ReasonForbidden {
		op.Abandoned = "" // the server took a resume all the same
	}
	v := s.judge(&op)
	if op.By != "" && op.Origin != v1alpha1.OriginExternal {
		v.Message += "; " + op.By + " resumed it meanwhile"
	}
	at := instant(s.Now)
	op.Phase, op.Result, op.FinishedAt, op.Message = v.Phase, v.Reason, &at, status.Message("%s", v.Message)
	if k := s.Kustomization; k != nil && string(k.UID) == op.ApplierUID {
		op.AppliedRevision = k.Status.LastAppliedRevision
	}
	again := s.again(op)
	if again {
		op.Message = status.Message("%s; kustomize-controller had not seen that commit yet, and it is tried again", v.Message)
	}
	r := s.reportOn(&op)
	act := Action{Reason: v.Reason}
	if !repeats(op, r.history) {
		r.history = append([]v1alpha1.Operation{op}, r.history...)
		r.history = r.history[:min(len(r.history), maxHistory)]
	}
	if !again {
		r.answer(op)
		act.Event = s.tellVerdict(op, v)
	}
	act.Status = s.status(r)
	return act
}

// judge returns the verdict on an operation nothing of which runs any more.
func (s Seen) judge(op *v1alpha1.Operation) Verdict {
	gone := s.Kustomization == nil || string(s.Kustomization.UID) != op.ApplierUID
	switch {
	case op.Origin == v1alpha1.OriginDeletion && op.Abandoned == "":
		return Verdict{v1alpha1.OperationSucceeded, v1alpha1.ReasonApplierDeleted, op.Message} // as counted when it was there
	case gone && s.Kustomization == nil:
		return failed(v1alpha1.ReasonApplierNotFound, "Kustomization %s was deleted before the operation ended", s.applier())
	case gone:
		return failed(v1alpha1.ReasonApplierNotFound, "Kustomization %s was deleted and made anew before the operation ended", s.applier())
	case op.Abandoned == v1alpha1.ReasonOperationUnfollowed:
		return failed(op.Abandoned, "nobody followed it for more than %s; %s was applied last", unwatched, s.Kustomization.Status.LastAppliedRevision)
	case op.Abandoned != "":
		return failed(op.Abandoned, "it was given up before it had ended")
	case op.Origin == v1alpha1.OriginExternal:
		return judgeExternal(op, s)
	}
	return Judge(op, s.Kustomization, s.tip())
}

// neverRan returns what withdraws an operation that has left no trace: one of ours that was never seen resumed, and one of
// somebody else who changed their mind.
func (s Seen) neverRan(op v1alpha1.Operation) (Action, bool) {
	k := s.Kustomization
	external := op.Origin == v1alpha1.OriginExternal
	if external && applies(op.By) {
		return Action{}, false // it stays in the history, so that it is seen when they do it again
	}
	refused := op.Abandoned == v1alpha1.ReasonForbidden
	if k == nil || string(k.UID) != op.ApplierUID || op.Origin == v1alpha1.OriginDeletion || op.Abandoned != "" && !refused ||
		!external && op.StartedAt != nil || leftRun(&op, k) {
		return Action{}, false
	}
	why := s.whyNot(op)
	switch {
	case refused:
		why = &v1alpha1.HandledRequest{Outcome: v1alpha1.OutcomeRequestFailed, Message: op.Message}
	case why == nil:
		why = &v1alpha1.HandledRequest{Outcome: v1alpha1.OutcomeRequestFailed, Message: "a part of the hold was taken away before the Kustomization was resumed"}
	}
	return s.withdraw(op, why.Outcome, why.Message), true
}

// withdraw takes an operation back that was never resumed, and puts back what its record displaced.
func (s Seen) withdraw(op v1alpha1.Operation, o v1alpha1.RequestOutcome, why string) Action {
	var before *v1alpha1.Operation
	if h := s.Trigger.Status.History; len(h) > 0 {
		before = &h[0]
	}
	r := s.reportOn(before)
	if op.Origin != v1alpha1.OriginManual || o != v1alpha1.OutcomeStale { // who asks for the tip is served by the next one
		r.handle(op, v1alpha1.HandledRequest{ID: op.RequestID, Outcome: o, Message: why})
	}
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(r)}
}

// repeats says that op did once more what the newest entry of history says, and changed nothing.
func repeats(op v1alpha1.Operation, history []v1alpha1.Operation) bool {
	if len(history) == 0 {
		return false
	}
	last := history[0]
	return op.Phase == v1alpha1.OperationSucceeded && last.Phase == v1alpha1.OperationSucceeded &&
		op.Origin == last.Origin && op.Origin == v1alpha1.OriginRequest &&
		op.ApplierUID == last.ApplierUID && op.SpecDigest == last.SpecDigest && op.AppliedRevision == last.AppliedRevision
}

// tellVerdict returns the Event of an operation that ended. Of requests that fail in a row only the first is told.
func (s Seen) tellVerdict(op v1alpha1.Operation, v Verdict) *Event {
	h := s.Trigger.Status.History
	switch {
	case op.Origin == v1alpha1.OriginExternal:
		return nil // who resumed it was told when it was found
	case v.Reason == v1alpha1.ReasonApplierDeleted:
		return &Event{Warning: true, Reason: v1alpha1.ReasonApplierDeleted, Message: v.Message}
	case v.Phase == v1alpha1.OperationSucceeded:
		return &Event{Reason: v1alpha1.ReasonApplied, Message: fmt.Sprintf("Kustomization %s: %s (%s)", s.applier(), v.Message, why(op))}
	case len(h) > 0 && h[0].Phase == v1alpha1.OperationFailed && h[0].Origin != v1alpha1.OriginExternal && h[0].RequestID != op.RequestID &&
		op.Abandoned == "":
		return nil
	}
	return &Event{
		Warning: true,
		Reason:  v1alpha1.ReasonApplyFailed,
		Message: fmt.Sprintf("Kustomization %s, commit %s (%s): %s", s.applier(), op.Commit, why(op), v.Message),
	}
}

// why returns the word for what an operation was for.
func why(op v1alpha1.Operation) string {
	if op.Reason != "" {
		return string(op.Reason)
	}
	return string(op.Origin)
}
