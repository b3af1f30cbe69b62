package hold

import (
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// ResumedByUs says that k is resumed for an operation of trigger, so that a holder that stops must suspend it: until the
// next one starts nobody would watch it. A nil k is not resumed.
func ResumedByUs(trigger *v1alpha1.FluxTrigger, k *kustomizev1.Kustomization) bool {
	op := trigger.Status.Operation
	if op == nil || k == nil || string(k.UID) != op.ApplierUID || k.Spec.Suspend || !k.DeletionTimestamp.IsZero() {
		return false
	}
	return (op.Phase == v1alpha1.OperationRequested || op.Phase == v1alpha1.OperationRunning) && requested(k) == op.Token
}
