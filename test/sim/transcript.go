package sim

import (
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
)

// transcript is what happened, for a person. It is only kept when it is asked for: most seeds have nothing to tell.
type transcript struct {
	on    bool
	lines []string
}

func (t *transcript) add(w *World, line string) {
	if t.on {
		t.lines = append(t.lines, fmt.Sprintf("%5d %9s  %s", w.steps, w.now.Sub(start).Round(time.Millisecond), line))
	}
}

// write tells of a write's answer.
func (t *transcript) write(w *World, who, what string, err error) {
	if err != nil {
		t.add(w, fmt.Sprintf("%s: %s: %v", who, what, err))
	}
}

// change tells of what a change did to a Kustomization or a trigger.
func (t *transcript) change(w *World, c apiserver.Change) {
	if !t.on {
		return
	}
	switch c.Kind.GVK.Kind {
	case kustomizev1.KustomizationKind:
		t.add(w, fmt.Sprintf("        by %s: Kustomization %s", c.By.Manager, sayApplier(c.New)))
	case "FluxTrigger":
		t.add(w, fmt.Sprintf("        by %s: FluxTrigger %s", c.By.Manager, sayTrigger(c.New)))
	case "GitRepository":
		if c.New != nil {
			t.add(w, fmt.Sprintf("        by %s: GitRepository annotations %v suspend %v artifact %s", c.By.Manager, c.New.GetAnnotations(),
				apiserver.Suspended(c.New), short(revisionOf(c.New))))
		}
	}
}

func sayApplier(o *apiserver.Object) string {
	if o == nil {
		return "is gone"
	}
	k := apiserver.As[kustomizev1.Kustomization](o)
	s := fmt.Sprintf("rv=%s gen=%d suspend=%v requested=%q heldBy=%q finalizers=%v", k.ResourceVersion, k.Generation, k.Spec.Suspend,
		k.Annotations[meta.ReconcileRequestAnnotation], k.Annotations[v1alpha1.HeldByAnnotation], k.Finalizers)
	if !k.DeletionTimestamp.IsZero() {
		s += " deleting"
	}
	s += fmt.Sprintf(" | handled=%q applied=%s", k.Status.LastHandledReconcileAt, short(k.Status.LastAppliedRevision))
	for _, t := range []string{meta.ReadyCondition, meta.ReconcilingCondition} {
		if c := apimeta.FindStatusCondition(k.Status.Conditions, t); c != nil {
			s += fmt.Sprintf(" %s=%s/%s@%d", t, c.Status, c.Reason, c.ObservedGeneration)
		}
	}
	if len(k.Status.History) > 0 {
		h := k.Status.History[0]
		s += fmt.Sprintf(" history=%s/%d", h.LastReconciledStatus, h.TotalReconciliations)
	}
	return s
}

func sayTrigger(o *apiserver.Object) string {
	if o == nil {
		return "is gone"
	}
	f := apiserver.As[v1alpha1.FluxTrigger](o)
	s := fmt.Sprintf("rv=%s finalizers=%v", f.ResourceVersion, f.Finalizers)
	if !f.DeletionTimestamp.IsZero() {
		s += " deleting"
	}
	for _, t := range []v1alpha1.ConditionType{v1alpha1.ConditionConfigured, v1alpha1.ConditionHeld} {
		if c := apimeta.FindStatusCondition(f.Status.Conditions, string(t)); c != nil {
			s += fmt.Sprintf(" %s=%s/%s", t, c.Status, c.Reason)
		}
	}
	if r := f.Status.Request; r != nil {
		s += fmt.Sprintf(" request=%s for %s", r.ID, short(r.Commit))
	}
	if h := f.Status.LastHandledRequest; h != nil {
		s += fmt.Sprintf(" answered=%s %s %q", h.ID, h.Outcome, h.Message)
	}
	if op := f.Status.Operation; op != nil {
		s += fmt.Sprintf(" operation=%s %s%s for %s t1=%s t2=%s %q", op.RequestID, op.Origin, op.Phase, short(op.Commit), op.Token, op.SuspendToken, op.Message)
	}
	return s
}

// short is a revision or commit without the zeros.
func short(s string) string { return strings.ReplaceAll(s, strings.Repeat("0", 36), "…") }
