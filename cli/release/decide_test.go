package release

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

const held = `{"f:metadata":{"f:annotations":{"f:holdfast.dev/held-by":{}}},"f:spec":{"f:suspend":{}}}`

func owned(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	f := &metav1.FieldsV1{}
	f.SetRawString(fields)
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: f}
}

// leaving is a trigger that this run deleted 5s ago and nobody has touched since, and the Kustomization it holds, at rest.
// Each row changes something.
func leaving(change ...func(*Seen)) Seen {
	s := Seen{
		Now: noon, TriggerUID: "t", DeletedAt: noon.Add(-HolderActs), Deadline: noon.Add(time.Minute),
		Trigger: &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{
			UID: "t", Finalizers: []string{v1alpha1.HoldFinalizer}, DeletionTimestamp: &metav1.Time{Time: noon.Add(-HolderActs)},
		}},
		Kustomization: &kustomizev1.Kustomization{
			ObjectMeta: metav1.ObjectMeta{
				Annotations:   map[string]string{v1alpha1.HeldByAnnotation: "c/t"},
				Finalizers:    []string{kustomizev1.KustomizationFinalizer, v1alpha1.HoldFinalizer},
				ManagedFields: []metav1.ManagedFieldsEntry{owned("holdfast", metav1.ManagedFieldsOperationApply, held)},
			},
			Spec: kustomizev1.KustomizationSpec{Suspend: true},
		},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func noTrigger(s *Seen)       { s.Trigger = nil }
func noKustomization(s *Seen) { s.Kustomization = nil }
func orphans(s *Seen)         { s.Orphan = true }
func resumed(s *Seen)         { s.Kustomization.Spec.Suspend = false }

// clean has nothing of a hold.
func clean(s *Seen) { s.Kustomization = &kustomizev1.Kustomization{} }

// frozen has a source that manager suspended.
func frozen(manager string) func(*Seen) {
	return func(s *Seen) {
		s.Source = &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{owned(manager, metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:suspend":{}}}`)},
		}}
	}
}

func heldBy(by string) func(*Seen) {
	return func(s *Seen) { s.Kustomization.Annotations[v1alpha1.HeldByAnnotation] = by }
}

// also has another manager of spec.suspend.
func also(operation metav1.ManagedFieldsOperationType) func(*Seen) {
	return func(s *Seen) {
		s.Kustomization.ManagedFields = append(s.Kustomization.ManagedFields, owned("other", operation, `{"f:spec":{"f:suspend":{}}}`))
	}
}

func deleted(finalizers ...string) func(*Seen) {
	return func(s *Seen) {
		s.Kustomization.DeletionTimestamp, s.Kustomization.Finalizers = &metav1.Time{Time: noon}, finalizers
	}
}

// suspended has this run's suspend from so long ago.
func suspended(ago time.Duration, handled string) func(*Seen) {
	return func(s *Seen) {
		s.Token, s.SuspendedAt, s.Kustomization.Status.LastHandledReconcileAt = "t2", noon.Add(-ago), handled
	}
}

func TestDecide(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	flux, ours := kustomizev1.KustomizationFinalizer, v1alpha1.HoldFinalizer
	for _, row := range []struct {
		says string
		seen Seen
		want Verb
		why  string
	}{
		{"deletes the trigger first", leaving(func(s *Seen) { s.Trigger.DeletionTimestamp = nil }), Delete, ""},
		{"gives a holder a moment to show itself", leaving(func(s *Seen) { s.DeletedAt = noon.Add(-HolderActs + 1) }), Wait, ""},
		{"hands back by itself when none does", leaving(), Release, ""},
		{"lets a holder that is at it go on", leaving(func(s *Seen) { s.Moved = true }), Wait, ""},
		{"but not for ever", leaving(func(s *Seen) { s.Moved, s.Deadline = true, noon }), Release, ""},
		{"suspends what a holder had resumed", leaving(resumed), Suspend, ""},
		{"then waits for the controller to note it", leaving(suspended(time.Second, "t1")), Wait, ""},
		{"which it has", leaving(suspended(time.Second, "t2")), Release, ""},
		{"or which may not run", leaving(suspended(controllerHandles, "t1")), Release, ""},
		{"does not suspend again what it has begun to release", leaving(resumed, suspended(time.Hour, "t2")), Release, ""},
		{"takes back what a person suspended too", leaving(also(update)), Release, ""},
		{"leaves a field that another manager applies to that", leaving(also(apply)), GiveUp, ""},
		{"also when it is resumed", leaving(also(apply), resumed), GiveUp, ""},
		{"resumes nothing whose suspend is not a holder's", leaving(func(s *Seen) { s.Kustomization.ManagedFields = nil }), GiveUp, ""},
		{"leaves what another trigger holds", leaving(heldBy("c/other")), LetGo, ""},
		{"takes a part of the uid for another", leaving(heldBy("c/xt")), LetGo, ""},
		{"lets the trigger go once nothing is held", leaving(clean), LetGo, ""},
		{"and when the Kustomization is gone", leaving(noKustomization), LetGo, ""},
		{"a trigger without finalizer goes by itself", leaving(clean, func(s *Seen) { s.Trigger.Finalizers = nil }), Wait, ""},
		{"somebody else's finalizer is theirs to take off", leaving(clean, func(s *Seen) { s.Trigger.Finalizers = []string{"x/y"} }), Stop, "x/y"},
		{"lets Flux prune a Kustomization that is being deleted", leaving(deleted(flux, ours)), Release, ""},
		{"also while it is resumed for that", leaving(deleted(flux, ours), resumed), Release, ""},
		{"keeps it suspended while its objects shall stay", leaving(deleted(flux, ours), orphans), Wait, ""},
		{"until Flux has let go of it", leaving(deleted(ours), orphans), GiveUp, ""},
		{"which takes a controller", leaving(deleted(flux, ours), orphans, func(s *Seen) { s.Deadline = noon }), Stop, "kustomize-controller"},
		{"what shall stay when it is deleted is resumed when it is not", leaving(orphans), Release, ""},
		{"lets a source go that was frozen for an operation", leaving(frozen("holdfast")), Thaw, ""},
		{"also when nothing else is left", leaving(noTrigger, noKustomization, frozen("holdfast")), Thaw, ""},
		{"not one that somebody else suspended", leaving(frozen("somebody")), Release, ""},
		{"is done when both are gone", leaving(noTrigger, noKustomization), Done, ""},
		{"is done when nothing is held by it", leaving(noTrigger, clean), Done, ""},
		{"hands back what a trigger left behind", leaving(noTrigger), Release, ""},
		{"of whose name nothing is left but the finalizer", leaving(noTrigger, func(s *Seen) {
			s.Kustomization.ManagedFields, s.TriggerUID = nil, ""
		}), GiveUp, ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			got := Decide(row.seen)
			if got.Verb != row.want || !strings.Contains(got.Why, row.why) {
				t.Errorf("it would %q (%s), want %q", got.Verb, got.Why, row.want)
			}
		})
	}
}

func TestOutcomeNamesWhoKeepsItSuspended(t *testing.T) {
	for says, row := range map[string]struct {
		k    *kustomizev1.Kustomization
		want string
	}{
		"nobody":         {leaving(resumed).Kustomization, "applies on its own"},
		"gone":           {nil, "is gone"},
		"somebody":       {leaving(also(metav1.ManagedFieldsOperationUpdate)).Kustomization, "stays suspended by field manager other (Update)"},
		"who is unknown": {&kustomizev1.Kustomization{Spec: kustomizev1.KustomizationSpec{Suspend: true}}, "nobody who is known"},
	} {
		if got := Outcome("a/b", row.k); !strings.Contains(got, row.want) || !strings.Contains(got, "a/b") {
			t.Errorf("%s: %q", says, got)
		}
	}
}
