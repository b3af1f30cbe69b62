package hold

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// row is one rule: what is seen, and what Decide makes of it in the words of brief.
type row struct {
	name string
	seen Seen
	want string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			if got := brief(Decide(tt.seen)); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// brief writes an action as one line: the effect, the reasons of Ready and Held, the operation, and the answers.
func brief(a Action) string {
	full := a
	full.Status = nil
	parts := []string{tell(full)}
	st := a.Status
	if st == nil {
		return parts[0]
	}
	says := func(t v1alpha1.ConditionType) string {
		c := status.Get(st.Conditions, t)
		return string(c.Status) + "/" + c.Reason
	}
	parts = append(parts, "Ready="+says(v1alpha1.ConditionReady)+" Held="+says(v1alpha1.ConditionHeld))
	if op := st.Operation; op != nil {
		parts = append(parts, strings.Join(strings.Fields(strings.Join([]string{string(op.Origin), string(op.Phase), op.SuspendToken, string(op.Abandoned)}, " ")), " "))
	}
	if h := st.LastHandledRequest; h != nil {
		parts = append(parts, "answer "+h.ID+" "+string(h.Outcome))
	}
	if h := st.LastHandledManual; h != nil {
		parts = append(parts, "manual "+string(h.Outcome))
	}
	return strings.Join(parts, " | ")
}

// op changes the operation in the status.
func op(change func(*v1alpha1.Operation)) edit {
	return func(s *Seen) { change(s.Trigger.Status.Operation) }
}

// externalOp is somebody else's resume that was suspended with t2, against what the status says now.
func externalOp(by string) edit {
	return all(operation("Unresolved"), func(s *Seen) { s.Trigger.Status.Request = nil }, op(func(o *v1alpha1.Operation) {
		o.Origin, o.By, o.RequestID, o.Reason, o.Commit, o.Token, o.StartedAt = v1alpha1.OriginExternal, by, "", "", "", "seen-1", nil
	}))
}

// deletionOp is a deletion that lets Flux prune.
func deletionOp(phase v1alpha1.OperationPhase) edit {
	return all(operation(phase), func(s *Seen) { s.Trigger.Status.Request = nil }, op(func(o *v1alpha1.Operation) {
		o.Origin, o.RequestID, o.Reason, o.SourceRef, o.SuspendToken = v1alpha1.OriginDeletion, "", "", "", ""
	}))
}

// frozenOp is operation under a controller that cancels its health checks; its source has a uid of its own.
func frozenOp(phase v1alpha1.OperationPhase) edit {
	return all(operation(phase), op(func(o *v1alpha1.Operation) { o.FreezeToken = "f1" }), func(s *Seen) {
		s.Controller.CancelsHealthChecks = true
		s.Frozen = s.GitRepository
	})
}

// frozen is our suspend on the source, handled or not.
func frozen(isHandled bool) edit {
	return func(s *Seen) {
		s.GitRepository.Spec.Suspend = true
		s.GitRepository.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "holdfast", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(ownsField)}}
		source("f1", "")(s)
		if isHandled {
			source("f1", "f1")(s)
		}
	}
}

// kDeleting is a Kustomization that somebody deletes, with these finalizers.
func kDeleting(finalizers ...string) edit {
	return func(s *Seen) {
		s.Kustomization.DeletionTimestamp = &past
		s.Kustomization.Finalizers = finalizers
	}
}

const (
	ours  = v1alpha1.HoldFinalizer
	fluxs = kustomizev1.KustomizationFinalizer
)

// leader says which process leads, for how long it was seen to, and how long a Lease lasts.
func leader(process string, ledFor time.Duration) edit {
	return func(s *Seen) {
		s.Controller.Leader, s.Controller.LedFor, s.Controller.Lease = process, ledFor, 35*time.Second
	}
}

func standby(s *Seen)   { s.Controller.Leads = false }
func elsewhere(s *Seen) { s.Controller.Elsewhere = true }
func stranger(s *Seen)  { s.Followed = false }

func leavingFor(d time.Duration) edit {
	return func(s *Seen) {
		at := instant(s.Now.Add(-d))
		s.Trigger.DeletionTimestamp, s.Trigger.Status.ReleasingSince = &at, &at
	}
}

// annotated is a person's word on the trigger.
func annotated(value string) edit {
	return func(s *Seen) { s.Trigger.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: value} }
}

func answeredManual(value string) edit {
	return func(s *Seen) {
		s.Trigger.Status.LastHandledManual = &v1alpha1.HandledRequest{ID: s.manualID(value), Outcome: v1alpha1.OutcomeSucceeded}
	}
}

// fetchedFor says that the source was looked at for a person's word.
func fetchedFor(value string) edit {
	return func(s *Seen) {
		token := fetchPrefix + s.manualID(value)
		source(token, token)(s)
	}
}

// succeeded is an operation of ours that applied c1 to the spec there is, and is the newest thing that ran.
func succeeded(s *Seen) {
	finished(v1alpha1.OperationSucceeded)(s)
	for _, o := range []*v1alpha1.Operation{s.Trigger.Status.Operation, &s.Trigger.Status.History[0]} {
		o.SpecDigest, o.AppliedRevision = SpecDigest(s.Kustomization), rev(c1)
	}
}

func inventory(ids ...string) edit {
	return func(s *Seen) {
		s.Kustomization.Status.Inventory = &kustomizev1.ResourceInventory{}
		for _, id := range ids {
			s.Kustomization.Status.Inventory.Entries = append(s.Kustomization.Status.Inventory.Entries, kustomizev1.ResourceRef{ID: id, Version: "v1"})
		}
	}
}
