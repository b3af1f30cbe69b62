package hold

import (
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Verdict is what an operation came to.
type Verdict struct {
	// Phase is Succeeded or Failed.
	Phase v1alpha1.OperationPhase

	// Reason is Applied, or what failed.
	Reason v1alpha1.Reason

	// Message says it to a person, and begins with the reason of a failure.
	Message string
}

// BaselineOf returns what k's status says now, for Judge to compare with later.
func BaselineOf(k *kustomizev1.Kustomization) v1alpha1.Baseline {
	var b v1alpha1.Baseline
	if r := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition); r != nil {
		b.ReadyTransition, b.ReadyReason = r.LastTransitionTime.DeepCopy(), r.Reason
	}
	if len(k.Status.History) > 0 {
		top := k.Status.History[0]
		b.HistoryDigest, b.HistoryStatus, b.HistoryTotal = top.Digest, top.LastReconciledStatus, top.TotalReconciliations
	}
	return b
}

// Judge returns the verdict on an operation whose suspend is handled: no run is left, so k's status is the outcome.
// tip is the revision the branch is at now, empty when that is not known.
//
// What does not prove anything: a handled token, which is recorded on every return; observedGeneration, which moves while
// suspended; Ready alone, which is written apart from the rest. Needed for Succeeded are a run, which the history's first
// entry shows by moving (digest, status or total; times are whole seconds), Ready True, and the commit in
// lastAppliedRevision. Another revision is a success only when the source holds nothing else by now: then the branch went on
// between the record and the run, and what was applied is its tip.
func Judge(op *v1alpha1.Operation, k *kustomizev1.Kustomization, tip string) Verdict {
	now := BaselineOf(k)
	ready := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition)
	applied := k.Status.LastAppliedRevision
	switch {
	case !traces(op.Before, k):
		return failed(v1alpha1.ReasonNothingRan, "kustomize-controller handled the suspend, and no run has left a trace since the resume")
	case ready == nil:
		return failed(v1alpha1.ReasonNotReady, "the Kustomization has no Ready condition")
	case ready.Status != metav1.ConditionTrue:
		return failed(v1alpha1.ReasonNotReady, "Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
	case historyMoved(op.Before, now) && now.HistoryStatus != meta.ReconciliationSucceededReason:
		return failed(v1alpha1.ReasonNotReady, "Ready is True, and the newest entry of status.history says %s", now.HistoryStatus)
	case !historyMoved(op.Before, now) && now.HistoryTotal > 0:
		return failed(v1alpha1.ReasonNothingRan, "Ready moved, and status.history has no run since the resume")
	case isAt(applied, op.Commit):
		return Verdict{v1alpha1.OperationSucceeded, v1alpha1.ReasonApplied, "applied " + applied}
	case applied != "" && applied == tip:
		return Verdict{v1alpha1.OperationSucceeded, v1alpha1.ReasonApplied, "the branch went on; applied " + applied + ", which the source holds now"}
	}
	return failed(v1alpha1.ReasonRevisionMismatch, "applied %q, asked for %s", applied, op.Commit)
}

// started says that a run began after the resume of op: the controller reports progress on the resumed generation, has
// handled the token, or has already written a result.
func started(op *v1alpha1.Operation, k *kustomizev1.Kustomization) bool {
	if k.Status.LastHandledReconcileAt == op.Token || traces(op.Before, k) {
		return true
	}
	c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == meta.ProgressingReason && c.ObservedGeneration == k.Generation
}

// ended says that a run which began after the resume of op is over: the controller has handled the token, or has written
// a result that is not progress.
func ended(op *v1alpha1.Operation, k *kustomizev1.Kustomization) bool {
	if k.Status.LastHandledReconcileAt == op.Token {
		return true
	}
	ready := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReadyCondition)
	return traces(op.Before, k) && ready != nil && ready.Status == metav1.ConditionFalse
}

// traces says that k's status shows a run since the baseline was taken.
func traces(before v1alpha1.Baseline, k *kustomizev1.Kustomization) bool {
	now := BaselineOf(k)
	return readyMoved(before, now) || historyMoved(before, now)
}

// leftRun says that a run left a trace since op was recorded, and that k may have been resumed since: spec.suspend
// counts for metadata.generation.
func leftRun(op *v1alpha1.Operation, k *kustomizev1.Kustomization) bool {
	return traces(op.Before, k) && (op.Generation == 0 || k.Generation != op.Generation)
}

func readyMoved(before, now v1alpha1.Baseline) bool {
	return !before.ReadyTransition.Equal(now.ReadyTransition) || before.ReadyReason != now.ReadyReason
}

func historyMoved(before, now v1alpha1.Baseline) bool {
	return before.HistoryDigest != now.HistoryDigest || before.HistoryStatus != now.HistoryStatus ||
		before.HistoryTotal != now.HistoryTotal
}

func failed(r v1alpha1.Reason, format string, args ...any) Verdict {
	return Verdict{v1alpha1.OperationFailed, r, string(r) + ": " + fmt.Sprintf(format, args...)}
}
