package hold

import (
	"cmp"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// external suspends a Kustomization that somebody else resumed, and records what they did as an operation of theirs. The
// suspend goes first: a record makes nothing safe that is already running. What it applied is known once it is handled.
func (s Seen) external() Action {
	by := resumer(s.Kustomization)
	op := s.theirs(by)
	op.SuspendToken = s.FreshToken
	op.Phase = v1alpha1.OperationUnresolved
	op.Message = "resumed by " + op.By + "; suspended, and waiting for kustomize-controller to end what it began and handle that"
	return Action{
		Verb:      Suspend,
		Token:     s.FreshToken,
		ResumedBy: op.By,
		Reason:    v1alpha1.ReasonResumedElsewhere,
		Status:    s.status(s.reportOn(&op)),
		Event:     s.takenBack(by),
	}
}

// unrecorded records a run that left its trace on a Kustomization that nobody was ever seen to resume, or that a holder
// suspended again and was killed before it could record who had.
func (s Seen) unrecorded() Action {
	op := s.theirs(cmp.Or(s.untold(), "somebody who suspended it again before it was seen"))
	act := s.finish(op)
	act.Event = &Event{
		Warning: true,
		Reason:  v1alpha1.ReasonResumedElsewhere,
		Message: fmt.Sprintf("Kustomization %s applied %s while it was held, on nobody's request, resumed by %s; it is suspended",
			s.applier(), s.Kustomization.Status.LastAppliedRevision, op.By),
	}
	return act
}

// theirs returns an External operation against what was last known at rest.
func (s Seen) theirs(by string) v1alpha1.Operation {
	op := v1alpha1.Operation{
		Origin:      v1alpha1.OriginExternal,
		By:          byWhom(by),
		Token:       s.FreshToken,
		ApplierUID:  string(s.Kustomization.UID),
		SourceRef:   fmt.Sprintf("%.317s", SourceOf(s.Kustomization)), // a namespace, a slash and a name; it may be any text
		SpecDigest:  SpecDigest(s.Kustomization),
		Controller:  s.Controller.Leader,
		Before:      BaselineOf(s.Kustomization),
		RequestedAt: instant(s.Now),
	}
	if s.wasHeld() {
		op.Before = s.Trigger.Status.AtRest.Baseline
	}
	return op
}

// takenBack is the Event of a Kustomization that was resumed behind our back.
func (s Seen) takenBack(by string) *Event {
	what := "was resumed by %s; suspended again"
	if s.Kustomization.Spec.Suspend {
		what = "was resumed for a moment by %s, and may have applied something; suspended anew"
	}
	return &Event{
		Warning: true,
		Reason:  v1alpha1.ReasonResumedElsewhere,
		Message: fmt.Sprintf("Kustomization %s "+what+". To stop holding it, delete this FluxTrigger", s.applier(), by),
	}
}

// judgeExternal returns what somebody else's resume came to. It says Succeeded of the commit that was applied, because that
// is the only one it can speak of.
func judgeExternal(op *v1alpha1.Operation, s Seen) Verdict {
	k := s.Kustomization
	if !traces(op.Before, k) {
		return failed(v1alpha1.ReasonNothingRan, "%s resumed it, and it was suspended again before anything ran", op.By)
	}
	op.Commit = CommitOf(k.Status.LastAppliedRevision)
	now := BaselineOf(k)
	if r := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition); r == nil || r.Status != metav1.ConditionTrue ||
		historyMoved(op.Before, now) && now.HistoryStatus != meta.ReconciliationSucceededReason {
		return failed(v1alpha1.ReasonNotReady, "%s; Ready says: %s", op.By, readyMessage(r))
	}
	if k.Status.LastAppliedRevision == "" || op.Before.HistoryTotal > 0 && !historyMoved(op.Before, now) {
		return failed(v1alpha1.ReasonNotReady, "%s resumed it, and kustomize-controller did not write down what it applied", op.By)
	}
	return Verdict{v1alpha1.OperationSucceeded, v1alpha1.ReasonApplied, "applied " + k.Status.LastAppliedRevision + " on the word of " + op.By}
}

func readyMessage(c *metav1.Condition) string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s, %s: %s", c.Status, c.Reason, c.Message)
}
