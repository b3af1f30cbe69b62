package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/apply"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Trigger returns all conditions that gitmirror writes on a FluxTrigger: HolderAvailable as the claim has it, or as it was
// while the claim says nothing. It is nil while nothing was ever known.
func Trigger(t *v1alpha1.FluxTrigger, claim apply.HolderClaim, now time.Time) []metav1.Condition {
	own := OfMirror(t)
	if claim.Status != "" {
		status.Set(&own, v1alpha1.ConditionHolderAvailable, claim.Status, claim.Reason, t.Generation, now, "%s", claim.Message)
	}
	return own
}

// OfMirror returns the conditions of t that gitmirror writes, as they are.
func OfMirror(t *v1alpha1.FluxTrigger) []metav1.Condition {
	if c := status.Get(t.Status.Conditions, v1alpha1.ConditionHolderAvailable); c != nil {
		return []metav1.Condition{*c}
	}
	return nil
}

// HolderMissing returns why no holder answers for a trigger with these conditions; nil while one does or nothing is known.
func HolderMissing(conds []metav1.Condition) *metav1.Condition {
	if c := status.Get(conds, v1alpha1.ConditionHolderAvailable); c != nil && c.Status == metav1.ConditionFalse {
		return c
	}
	return nil
}
