package hold

import (
	"encoding/json"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// ownsSuspend says that spec.suspend has the value the holder applied last: another value by anybody else takes the
// ownership away.
func ownsSuspend(k *kustomizev1.Kustomization) bool {
	for _, m := range k.ManagedFields {
		if m.Manager == v1alpha1.HolderFieldManager && m.Operation == metav1.ManagedFieldsOperationApply && owns(m) {
			return true
		}
	}
	return false
}

// resumer names who else owns spec.suspend, for a person: the newest field manager that is not the holder. A field that
// was removed has no owner.
func resumer(k *kustomizev1.Kustomization) string {
	var newest *metav1.ManagedFieldsEntry
	for i, m := range k.ManagedFields {
		if m.Manager == v1alpha1.HolderFieldManager || !owns(m) {
			continue
		}
		if newest == nil || (m.Time != nil && newest.Time.Before(m.Time)) {
			newest = &k.ManagedFields[i]
		}
	}
	if newest == nil {
		return "somebody who removed spec.suspend"
	}
	return fmt.Sprintf("field manager %s (%s)", newest.Manager, newest.Operation)
}

// owns says that the entry holds spec.suspend.
func owns(m metav1.ManagedFieldsEntry) bool {
	if m.FieldsV1 == nil || !strings.Contains(m.FieldsV1.GetRawString(), `"f:suspend"`) {
		return false
	}
	var fields struct {
		Spec struct {
			Suspend *struct{} `json:"f:suspend"`
		} `json:"f:spec"`
	}
	return json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Suspend != nil
}
