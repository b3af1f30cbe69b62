package hold

import (
	"encoding/json"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// HolderOf returns who holds k, as the held-by annotation says it, or nothing. The annotation counts only while its value is
// one a holder applied. Anybody who may write k can write it too; what they write binds nobody, or else it would switch a
// hold off, or keep a trigger that goes from handing back.
func HolderOf(k *kustomizev1.Kustomization) string {
	by := k.Annotations[v1alpha1.HeldByAnnotation]
	if by == "" || !holderApplied(k, func(f fieldSet) bool { return f.Metadata.Annotations["f:"+v1alpha1.HeldByAnnotation] != nil }) {
		return ""
	}
	return by
}

// ownsSuspend says that spec.suspend has the value the holder applied last, and had no other since: another value by
// anybody else takes the ownership away, and the same value written later does not bring it back.
func ownsSuspend(k *kustomizev1.Kustomization) bool { return holderApplied(k, fieldSet.suspend) }

// resumer names who else owns spec.suspend, for a person: the newest field manager that is not the holder. A field that
// was removed has no owner.
func resumer(k *kustomizev1.Kustomization) string {
	var newest *metav1.ManagedFieldsEntry
	for i, m := range k.ManagedFields {
		if m.Manager == v1alpha1.HolderFieldManager || !fields(m, "f:suspend").suspend() {
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

// suspendApplier returns the field manager, other than the holder, that applies spec.suspend; empty when none does. Such a
// manager has the field in its own file and writes it again; a one-off update does not.
func suspendApplier(k *kustomizev1.Kustomization) string {
	if k == nil {
		return ""
	}
	for _, m := range k.ManagedFields {
		if m.Manager != v1alpha1.HolderFieldManager && m.Operation == metav1.ManagedFieldsOperationApply && fields(m, "f:suspend").suspend() {
			return m.Manager
		}
	}
	return ""
}

// holderApplied says that the fields a holder applied to k, and still owns, are such.
func holderApplied(k *kustomizev1.Kustomization, such func(fieldSet) bool) bool {
	for _, m := range k.ManagedFields {
		if m.Manager == v1alpha1.HolderFieldManager && m.Operation == metav1.ManagedFieldsOperationApply && such(fields(m, "f:")) {
			return true
		}
	}
	return false
}

// fieldSet is what is read of the fields a manager owns.
type fieldSet struct {
	Metadata struct {
		Annotations map[string]*struct{} `json:"f:annotations"`
	} `json:"f:metadata"`
	Spec struct {
		Suspend *struct{} `json:"f:suspend"`
	} `json:"f:spec"`
}

func (f fieldSet) suspend() bool { return f.Spec.Suspend != nil }

// fields returns what m owns; nothing when it does not mention the word at all, or cannot be read.
func fields(m metav1.ManagedFieldsEntry, word string) fieldSet {
	var f fieldSet
	if m.FieldsV1 == nil || !strings.Contains(m.FieldsV1.GetRawString(), word) || json.Unmarshal(m.FieldsV1.GetRawBytes(), &f) != nil {
		return fieldSet{}
	}
	return f
}
