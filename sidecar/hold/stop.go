package hold

import (
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// ResumedByUs says that k is resumed for an operation of trigger, so that a holder that stops must suspend it: until the
// next one starts nobody would watch it. It is by the token, and also when somebody stamped that over, as long as the
// resume is the holder's own; what somebody else resumed is left for the next holder to find and to tell. One that is being
// deleted is left to Flux's prune, unless the trigger says that nothing is to be pruned. A nil k is not resumed.
func ResumedByUs(trigger *v1alpha1.FluxTrigger, k *kustomizev1.Kustomization) bool {
	op := trigger.Status.Operation
	if op == nil || op.Phase.Final() || k == nil || string(k.UID) != op.ApplierUID || k.Spec.Suspend {
		return false
	}
	if !k.DeletionTimestamp.IsZero() && (trigger.Spec.OnDelete != v1alpha1.OnDeleteOrphan || op.Origin == v1alpha1.OriginDeletion || !ownership.Finalized(k)) {
		return false
	}
	return requested(k) == op.Token || ownership.Suspend(k)
}
