package hold

import (
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

const (
	cluster = "cluster-uid"
	us      = cluster + "/trigger-uid"
	other   = cluster + "/other-uid"
	c1      = "1111111111111111111111111111111111111111"
	c2      = "2222222222222222222222222222222222222222"
	t1      = "holdfast-t1"
	t2      = "holdfast-t2"
)

var (
	now  = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	past = metav1.NewTime(now.Add(-time.Hour))
)

func rev(commit string) string { return "main@sha1:" + commit }

// edit changes one thing in a Seen.
type edit func(*Seen)

// seen is a trigger nobody adopted yet, with all it needs in place, changed by the edits in order.
func seen(edits ...edit) Seen {
	s := Seen{
		Now:        now,
		FreshToken: "fresh",
		ClusterUID: cluster,
		Trigger: &v1alpha1.FluxTrigger{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "trigger-uid", Generation: 3},
			Spec: v1alpha1.FluxTriggerSpec{
				KustomizationRef: v1alpha1.NamespacedReference{Namespace: "team", Name: "app"},
			},
		},
		KubeProvider: &v1alpha1.KubeProvider{},
		Admitted:     true,
		Controller:   Controller{Leads: true, Leader: "here", Namespace: "flux-system"},
		Followed:     true,
		Kustomization: &kustomizev1.Kustomization{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "k-uid", Generation: 7, Annotations: map[string]string{}},
			Spec:       kustomizev1.KustomizationSpec{SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"}},
			Status: kustomizev1.KustomizationStatus{
				ObservedGeneration:  7, // says nothing, and must change nothing
				LastAppliedRevision: rev(c1),
				Conditions:          []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ReconciliationSucceeded", LastTransitionTime: past}},
				History:             meta.History{{Digest: "d1", LastReconciledStatus: "ReconciliationSucceeded", TotalReconciliations: 4}},
			},
		},
		GitRepository: &sourcev1.GitRepository{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "repo", Annotations: map[string]string{}},
			Spec:       sourcev1.GitRepositorySpec{URL: "https://git.example/team/app", Reference: &sourcev1.GitRepositoryRef{Branch: "main"}},
			Status:     sourcev1.GitRepositoryStatus{Artifact: &meta.Artifact{Revision: rev(c1)}},
		},
		Binding: binding.Verdict{Bound: true, Reason: v1alpha1.ReasonSucceeded, Message: "bound by GitTarget app"},
	}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func all(edits ...edit) edit {
	return func(s *Seen) {
		for _, e := range edits {
			e(s)
		}
	}
}

func finalizer(s *Seen) { s.Trigger.Finalizers = []string{v1alpha1.HoldFinalizer} }

// suspended puts our whole hold on the Kustomization, with a token that is not handled.
func suspended(token string) edit {
	return func(s *Seen) {
		finalizer(s)
		s.Kustomization.Spec.Suspend = true
		s.Kustomization.Finalizers = []string{v1alpha1.HoldFinalizer}
		s.Kustomization.Annotations[v1alpha1.HeldByAnnotation] = us
		requestedAt(token)(s)
		owner("holdfast", metav1.ManagedFieldsOperationApply)(s)
	}
}

func requestedAt(token string) edit {
	return func(s *Seen) { s.Kustomization.Annotations[meta.ReconcileRequestAnnotation] = token }
}

func handled(token string) edit {
	return func(s *Seen) { s.Kustomization.Status.LastHandledReconcileAt = token }
}

// held is the resting state: suspended, handled, and said so.
func held(s *Seen) {
	all(suspended("rest"), handled("rest"))(s)
	status.Set(&s.Trigger.Status.Conditions, v1alpha1.ConditionHeld, "True", v1alpha1.ReasonSuspended, 3, now.Add(-time.Hour), "")
	s.Trigger.Status.AtRest = &v1alpha1.Rest{ApplierUID: "k-uid", Baseline: BaselineOf(s.Kustomization)}
}

const (
	ownsMark  = `{"f:metadata":{"f:annotations":{"f:holdfast.dev/held-by":{}}}}`
	ownsField = `{"f:spec":{"f:suspend":{}}}`
	ownsNone  = `{"f:status":{"f:suspend":{},"f:annotations":{"f:holdfast.dev/held-by":{}}}}`
)

// owner makes manager the only owner of spec.suspend, and leaves the held-by annotation to the holder.
func owner(manager string, op metav1.ManagedFieldsOperationType) edit {
	return func(s *Seen) { owners(s, manager, op, "holdfast", "Apply") }
}

// owners says who owns spec.suspend, and who owns held-by.
func owners(s *Seen, field string, fieldOp metav1.ManagedFieldsOperationType, mark string, markOp metav1.ManagedFieldsOperationType) {
	s.Kustomization.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kustomize-controller", Operation: "Update", FieldsV1: metav1.NewFieldsV1(ownsNone)},
		{Manager: mark, Operation: markOp, FieldsV1: metav1.NewFieldsV1(ownsMark)},
		{Manager: field, Operation: fieldOp, FieldsV1: metav1.NewFieldsV1(ownsField)},
	}
}

// resumedBy is a one-off update by somebody else.
func resumedBy(manager string) edit {
	return func(s *Seen) {
		s.Kustomization.Spec.Suspend = false
		owner(manager, metav1.ManagedFieldsOperationUpdate)(s)
	}
}

// resumedWith is our own resume.
func resumedWith(token string) edit {
	return func(s *Seen) {
		s.Kustomization.Spec.Suspend = false
		s.Kustomization.Generation++
		requestedAt(token)(s)
	}
}

// flapped is somebody else's resume and suspend, of which only the second is seen.
func flapped(manager string) edit { return owner(manager, metav1.ManagedFieldsOperationUpdate) }

// waited is how long the newest token was seen unhandled.
func waited(d time.Duration) edit { return func(s *Seen) { s.Waited = d } }

// heldBy is what a holder applied.
func heldBy(value string) edit {
	return func(s *Seen) {
		if value == "" {
			delete(s.Kustomization.Annotations, v1alpha1.HeldByAnnotation)
			return
		}
		s.Kustomization.Annotations[v1alpha1.HeldByAnnotation] = value
		s.Kustomization.ManagedFields = append(s.Kustomization.ManagedFields,
			metav1.ManagedFieldsEntry{Manager: "holdfast", Operation: "Apply", FieldsV1: metav1.NewFieldsV1(ownsMark)})
	}
}

// ownToken is the newest token, applied by a holder.
func ownToken(token string) edit {
	return all(requestedAt(token), func(s *Seen) {
		s.Kustomization.ManagedFields = append(s.Kustomization.ManagedFields, metav1.ManagedFieldsEntry{Manager: "holdfast", Operation: "Apply",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reconcile.fluxcd.io/requestedAt":{}}}}`)})
	})
}

// tookBack is the suspend of a holder that took somebody's resume back, and was killed before it said so.
func tookBack(token, from string) edit {
	return all(suspended(token), func(s *Seen) {
		s.Kustomization.Annotations[v1alpha1.ResumedByAnnotation] = from
		s.Kustomization.ManagedFields = append(s.Kustomization.ManagedFields, metav1.ManagedFieldsEntry{Manager: "holdfast", Operation: "Apply",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:holdfast.dev/resumed-by":{}}}}`)})
	})
}

// forged is a held-by that no holder applied.
func forged(value string) edit {
	return func(s *Seen) {
		s.Kustomization.Annotations[v1alpha1.HeldByAnnotation] = value
		owners(s, "holdfast", "Apply", "kubectl-annotate", "Update")
	}
}

func request(id, commit string) edit {
	return func(s *Seen) {
		s.Trigger.Status.Request = &v1alpha1.ApplyRequest{ID: id, Reason: v1alpha1.ApplyPublish, Commit: commit, Revision: rev(commit)}
	}
}

func answered(id string) edit {
	return func(s *Seen) {
		s.Trigger.Status.LastHandledRequest = &v1alpha1.HandledRequest{ID: id, Outcome: v1alpha1.OutcomeSucceeded}
	}
}

// operation records request r1 for commit c1 in that phase, with the Kustomization's status of now as baseline.
func operation(phase v1alpha1.OperationPhase) edit {
	return func(s *Seen) {
		request("r1", c1)(s)
		op := &v1alpha1.Operation{
			RequestID: "r1", Origin: v1alpha1.OriginRequest, Phase: phase, Reason: v1alpha1.ApplyPublish, Commit: c1, Token: t1,
			ApplierUID: "k-uid", SourceRef: "team/repo", SpecDigest: SpecDigest(s.Kustomization), Controller: "here",
			Before: BaselineOf(s.Kustomization), RequestedAt: instant(now),
		}
		if phase != v1alpha1.OperationRequested {
			at := instant(now)
			op.StartedAt = &at
		}
		if phase == v1alpha1.OperationSettling || phase == v1alpha1.OperationUnresolved {
			op.SuspendToken = t2
		}
		s.Trigger.Status.Operation = op
	}
}

// finished is an operation that ended so, for request r0.
func finished(phase v1alpha1.OperationPhase) edit {
	return func(s *Seen) {
		op := v1alpha1.Operation{RequestID: "r0", Origin: v1alpha1.OriginRequest, Phase: phase, Commit: c1, Token: "t0", ApplierUID: "k-uid", RequestedAt: past, Message: "as it was"}
		s.Trigger.Status.Operation = &op
		s.Trigger.Status.History = []v1alpha1.Operation{op}
		r := report{}
		r.answer(op)
		s.Trigger.Status.LastHandledRequest = r.handled
	}
}

func artifact(commit string) edit {
	return func(s *Seen) {
		if commit == "" {
			s.GitRepository.Status.Artifact = nil
			return
		}
		s.GitRepository.Status.Artifact = &meta.Artifact{Revision: rev(commit)}
	}
}

// source sets the newest token on the GitRepository and the one it handled.
func source(requested, handled string) edit {
	return func(s *Seen) {
		s.GitRepository.Annotations[meta.ReconcileRequestAnnotation] = requested
		s.GitRepository.Status.LastHandledReconcileAt = handled
	}
}

// ran is a run that ended well: Ready and history moved.
func ran(s *Seen) {
	ready("True", "ReconciliationSucceeded")(s)
	historyTop("d1", "ReconciliationSucceeded", 5)(s)
}

func ready(st metav1.ConditionStatus, reason string) edit {
	return func(s *Seen) {
		s.Kustomization.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: st, Reason: reason, Message: "said by Flux", LastTransitionTime: metav1.NewTime(now)}}
	}
}

func historyTop(digest, st string, total int64) edit {
	return func(s *Seen) {
		s.Kustomization.Status.History = meta.History{{Digest: digest, LastReconciledStatus: st, TotalReconciliations: total}}
	}
}

func applied(revision string) edit {
	return func(s *Seen) { s.Kustomization.Status.LastAppliedRevision = revision }
}

func progressing(generation int64) edit {
	return func(s *Seen) {
		s.Kustomization.Status.Conditions = append(s.Kustomization.Status.Conditions,
			metav1.Condition{Type: "Reconciling", Status: "True", Reason: "Progressing", ObservedGeneration: generation})
	}
}

func verdict(r v1alpha1.Reason) edit {
	return func(s *Seen) { s.Binding = binding.Verdict{Reason: r, Message: "GitTarget app: why"} }
}

func deleting(s *Seen)        { s.Trigger.DeletionTimestamp = &past }
func noKustomization(s *Seen) { s.Kustomization = nil }
func anotherUID(s *Seen)      { s.Kustomization.UID = types.UID("k-uid-2") }

// otherLives is another trigger that names the same Kustomization, and may hold it; it is younger.
func otherLives(s *Seen) {
	t := s.Trigger.DeepCopy()
	t.UID, t.Name, t.CreationTimestamp = "other-uid", "other", past
	t.Finalizers, t.DeletionTimestamp, t.Status = nil, nil, v1alpha1.FluxTriggerStatus{}
	o := *s
	o.Trigger, o.Others = t, nil
	s.Others = []Seen{o}
}
func otherAdopted(s *Seen) { s.Others[0].Trigger.Finalizers = []string{v1alpha1.HoldFinalizer} }
func otherUnbound(s *Seen) { s.Others[0].KubeProvider = nil }
func later(d time.Duration) edit {
	return func(s *Seen) { s.Now = s.Now.Add(d) }
}

// tell writes an action as one line: the effect, what the status says, the operation and the answer.
func tell(a Action) string {
	effect := string(a.Verb)
	if a.Verb == Wait {
		effect = "Wait"
	}
	if a.Token != "" {
		effect += " " + a.Token
	}
	if a.Guarded {
		effect += " guarded"
	}
	if a.Again {
		effect += " again"
	}
	if a.Recheck != 0 {
		effect += " " + a.Recheck.String()
	}
	if a.Event != nil {
		effect += " event " + string(a.Event.Reason)
	}
	if a.Status == nil {
		return effect
	}
	parts := []string{effect}
	var conds []string
	for _, t := range own {
		if c := status.Get(a.Status.Conditions, t); c != nil {
			conds = append(conds, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
		}
	}
	parts = append(parts, strings.Join(conds, " "))
	if op := a.Status.Operation; op != nil {
		line := op.RequestID + " " + string(op.Phase)
		if op.SuspendToken != "" {
			line += " " + op.SuspendToken
		}
		if op.By != "" && op.Origin != v1alpha1.OriginExternal {
			line += " by " + op.By
		}
		parts = append(parts, line)
	}
	if h := a.Status.LastHandledRequest; h != nil {
		parts = append(parts, fmt.Sprintf("answer %s %s", h.ID, h.Outcome))
	}
	return strings.Join(parts, " | ")
}
