package ownership

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	ofHeldBy  = `{"f:metadata":{"f:annotations":{".":{},"f:holdfast.dev/held-by":{}}}}`
	ofSuspend = `{"f:spec":{"f:suspend":{}}}`
	ofPath    = `{"f:spec":{"f:path":{}}}`
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	f := &metav1.FieldsV1{}
	f.SetRawString(fields)
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: f}
}

func since(m metav1.ManagedFieldsEntry, seconds int64) metav1.ManagedFieldsEntry {
	m.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
	return m
}

func TestWhatAHolderAppliedIsItsOwnAndNothingElse(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for _, row := range []struct {
		says    string
		fields  []metav1.ManagedFieldsEntry
		holder  string
		suspend bool
		others  []Other
	}{
		{"nobody is known", nil, "", false, nil},
		{"a holder applied both", []metav1.ManagedFieldsEntry{entry("holdfast", apply, ofHeldBy), entry("holdfast", apply, ofSuspend)}, "c/t", true, nil},
		{"somebody wrote the annotation by hand", []metav1.ManagedFieldsEntry{entry("kubectl-edit", update, ofHeldBy)}, "", false, nil},
		{"somebody took the holder's name for an update", []metav1.ManagedFieldsEntry{entry("holdfast", update, ofHeldBy), entry("holdfast", update, ofSuspend)},
			"", false, []Other{{Manager: "holdfast"}}},
		{"a person shares the field", []metav1.ManagedFieldsEntry{entry("holdfast", apply, ofSuspend), entry("flux", update, ofSuspend)},
			"", true, []Other{{Manager: "flux"}}},
		{"a parent applies it", []metav1.ManagedFieldsEntry{entry("kustomize-controller", apply, ofSuspend), entry("x", update, ofPath)},
			"", false, []Other{{Manager: "kustomize-controller", Applied: true}}},
		{"whoever wrote it last comes first", []metav1.ManagedFieldsEntry{
			since(entry("early", update, ofSuspend), 1), since(entry("late", apply, ofSuspend), 3), entry("undated", update, ofSuspend),
		}, "", false, []Other{{Manager: "late", Applied: true}, {Manager: "early"}, {Manager: "undated"}}},
		{"what cannot be read is nobody's", []metav1.ManagedFieldsEntry{entry("holdfast", apply, `f:{`), {Manager: "holdfast", Operation: apply}}, "", false, nil},
	} {
		t.Run(row.says, func(t *testing.T) {
			o := &metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.HeldByAnnotation: "c/t", v1alpha1.ResumedByAnnotation: "you"}, ManagedFields: row.fields}
			if got := Holder(o); got != row.holder {
				t.Errorf("held by %q, want %q", got, row.holder)
			}
			if got := ResumedBy(o); got != "" {
				t.Errorf("resumed by %q, which no holder said", got)
			}
			if got := Suspend(o); got != row.suspend {
				t.Errorf("the suspend is a holder's: %t, want %t", got, row.suspend)
			}
			if got := Applier(o); got != "" != slices.ContainsFunc(row.others, func(o Other) bool { return o.Applied && o.Manager == got }) {
				t.Errorf("applied by %q", got)
			}
			if diff := cmp.Diff(row.others, Others(o)); diff != "" {
				t.Errorf("others (-want +got)\n%s", diff)
			}
		})
	}
}

func TestATokenIsAHoldersOwnUntilSomebodyStampsItOver(t *testing.T) {
	const ofToken = `{"f:metadata":{"f:annotations":{"f:reconcile.fluxcd.io/requestedAt":{}}}}`
	for manager, want := range map[string]string{"holdfast": "T2", "flux": ""} {
		o := &metav1.ObjectMeta{
			Annotations:   map[string]string{"reconcile.fluxcd.io/requestedAt": "T2"},
			ManagedFields: []metav1.ManagedFieldsEntry{entry(manager, metav1.ManagedFieldsOperationApply, ofToken)},
		}
		if got := Token(o); got != want {
			t.Errorf("of %s: %q, want %q", manager, got, want)
		}
	}
}

func TestWhoWasTakenBackIsAHoldersWordAlone(t *testing.T) {
	o := &metav1.ObjectMeta{
		Annotations: map[string]string{v1alpha1.ResumedByAnnotation: "flux"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			entry("holdfast", metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:annotations":{"f:holdfast.dev/resumed-by":{}}}}`),
		},
	}
	if got := ResumedBy(o); got != "flux" {
		t.Errorf("resumed by %q", got)
	}
}
