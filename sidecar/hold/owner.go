package hold

import (
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// resumer names who else owns spec.suspend, for a person: whoever wrote it last and is not the holder. A field that was
// removed has no owner.
func resumer(k *kustomizev1.Kustomization) string {
	if others := ownership.Others(k); len(others) > 0 {
		return others[0].String()
	}
	return "somebody who removed spec.suspend"
}

// byWhom returns a name as an operation keeps it.
func byWhom(name string) string { return fmt.Sprintf("%.256s", name) }

// suspendApplier returns the field manager, other than the holder, that applies spec.suspend; empty when none does. Such a
// manager has the field in its own file and writes it again; a one-off update does not.
func suspendApplier(k *kustomizev1.Kustomization) string {
	if k == nil {
		return ""
	}
	return ownership.Applier(k)
}
