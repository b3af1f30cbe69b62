package ownership

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Holder returns the value of o's held-by annotation if a holder applied it, else nothing.
func Holder(o metav1.Object) string {
	return annotation(o, v1alpha1.HeldByAnnotation)
}

// ResumedBy returns the value of o's resumed-by annotation if a holder applied it, else nothing.
func ResumedBy(o metav1.Object) string {
	return annotation(o, v1alpha1.ResumedByAnnotation)
}

// Token returns the newest token on o if a holder applied it, else nothing: then it is somebody else's.
func Token(o metav1.Object) string {
	return annotation(o, meta.ReconcileRequestAnnotation)
}

// annotation returns the value of an annotation of o if a holder applied it, else nothing.
func annotation(o metav1.Object, key string) string {
	value := o.GetAnnotations()[key]
	if value == "" || !applied(o, key, func(f fieldSet) bool { return f.Metadata.Annotations["f:"+key] != nil }) {
		return ""
	}
	return value
}

// Suspend says that spec.suspend of o has the value a holder applied last, and had no other since: another value by anybody
// else takes the ownership away, and the same value written later does not bring it back.
func Suspend(o metav1.Object) bool { return applied(o, suspend, fieldSet.suspend) }

// Finalized says that o has Holdfast's finalizer, whoever put it there: it keeps o from being deleted all the same.
func Finalized(o metav1.Object) bool {
	return slices.Contains(o.GetFinalizers(), v1alpha1.HoldFinalizer)
}

// Other is somebody else's claim to spec.suspend.
type Other struct {
	Manager string
	Applied bool // they have the field in a file of theirs, and write it again; a one-off update does not
}

// String names the manager for a person.
func (o Other) String() string {
	if o.Applied {
		return fmt.Sprintf("field manager %s (Apply)", o.Manager)
	}
	return fmt.Sprintf("field manager %s (Update)", o.Manager)
}

// Others returns who owns spec.suspend of o besides a holder, who wrote it last first. A field that was removed has no owner.
func Others(o metav1.Object) []Other {
	var found []metav1.ManagedFieldsEntry
	for _, m := range o.GetManagedFields() {
		if !byHolder(m) && fields(m, suspend).suspend() {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b metav1.ManagedFieldsEntry) int { return at(b).Compare(at(a)) })
	var all []Other
	for _, m := range found {
		all = append(all, Other{Manager: m.Manager, Applied: m.Operation == metav1.ManagedFieldsOperationApply})
	}
	return all
}

// Applier returns the field manager, other than a holder, that applies spec.suspend of o; empty when none does.
func Applier(o metav1.Object) string {
	for _, other := range Others(o) {
		if other.Applied {
			return other.Manager
		}
	}
	return ""
}

// at returns when m was written; the zero time when it does not say.
func at(m metav1.ManagedFieldsEntry) time.Time {
	if m.Time == nil {
		return time.Time{}
	}
	return m.Time.Time
}

// byHolder says that m is what a holder applied. Under the holder's name, but not applied, it is somebody else's.
func byHolder(m metav1.ManagedFieldsEntry) bool {
	return m.Manager == v1alpha1.HolderFieldManager && m.Operation == metav1.ManagedFieldsOperationApply
}

// applied says that the fields a holder applied to o, and still owns, are such; word is in any such entry.
func applied(o metav1.Object, word string, such func(fieldSet) bool) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return byHolder(m) && such(fields(m, word))
	})
}

const suspend = "f:suspend"

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
