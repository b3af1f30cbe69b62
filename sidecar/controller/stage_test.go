package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/sidecar/leader"
)

const commit = "1111111111111111111111111111111111111111"

var key = types.NamespacedName{Namespace: "team", Name: "app"}

// stage is a reconciler on a fake API server, which keeps what was written, in order.
type stage struct {
	t      *testing.T
	store  client.WithWatch // as the controllers and people use it
	r      *Reconciler
	writes []string
	live   int // reads from the API server
	now    time.Time
	tokens int

	// suspendOwner is who owns spec.suspend; held-by is always the holder's. The fake server computes ownership from updates
	// and does not keep what it is told.
	suspendOwner metav1.ManagedFieldsEntry

	stale *v1alpha1.FluxTrigger // what the cache still has, when it lags

	before func(write string) error // called with each write before it happens
}

func newStage(t *testing.T) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name + "-uid")}
	}
	b := fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&v1alpha1.FluxTrigger{}, &kustomizev1.Kustomization{}, &sourcev1.GitRepository{}).
		WithObjects(
			&v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: v1alpha1.KubeProviderSpec{InCluster: true}},
			&v1alpha1.GitProvider{ObjectMeta: in("repo"), Spec: v1alpha1.GitProviderSpec{URL: "https://git.example/team/app"}},
			&v1alpha1.GitTarget{ObjectMeta: in("web"), Spec: v1alpha1.GitTargetSpec{
				GitProviderRef: v1alpha1.LocalReference{Name: "repo"}, Branch: "main",
				ApplyTriggerRef: &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: "app"},
			}},
			&v1alpha1.FluxTrigger{ObjectMeta: in("app"), Spec: v1alpha1.FluxTriggerSpec{
				KustomizationRef: v1alpha1.NamespacedReference{Namespace: "team", Name: "app"},
			}},
			&kustomizev1.Kustomization{ObjectMeta: in("app"), Spec: kustomizev1.KustomizationSpec{
				SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"},
			}, Status: kustomizev1.KustomizationStatus{LastAppliedRevision: "main@sha1:" + commit}},
			&sourcev1.GitRepository{
				ObjectMeta: in("repo"),
				Spec:       sourcev1.GitRepositorySpec{URL: "https://git.example/team/app.git", Reference: &sourcev1.GitRepositoryRef{Branch: "main"}},
				Status:     sourcev1.GitRepositoryStatus{Artifact: &meta.Artifact{Revision: "main@sha1:" + commit}},
			},
		)
	for _, ix := range indexes {
		b = b.WithIndex(ix.of, ix.name, ix.keys)
	}
	s := &stage{t: t, store: b.Build(), now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	writing := s.recording()
	registry := prometheus.NewRegistry()
	counts, err := NewMetrics(registry, s.store)
	if err != nil {
		t.Fatal(err)
	}
	s.r = &Reconciler{
		Client: writing,
		Live: interceptor.NewClient(s.store, interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				s.live++
				return s.get(ctx, c, k, o, opts...)
			},
		}),
		Applier:    (*stageApplier)(s),
		ClusterUID: "cluster",
		Now:        func() time.Time { return s.now },
		NewToken:   func() string { s.tokens++; return fmt.Sprintf("token-%d", s.tokens) },
		Metrics:    counts,
		Leader:     leads{},
		Shard:      labels.Everything(),
		Namespace:  "flux-system",
		Heartbeat:  "flux-system/holder",
	}
	return s
}

// leads is a controller that needs no election, or one that leads by a Lease that cannot be read.
type leads struct{ unreadable error }

func (l leads) State() leader.State {
	if l.unreadable != nil {
		return leader.State{Leads: true, Controller: "app_1", Since: time.Hour, Lease: 35 * time.Second}
	}
	return leader.State{Leads: true}
}

func (l leads) Look(context.Context, client.Reader) error { return l.unreadable }

// note keeps a write and lets before come between.
func (s *stage) note(write string) error {
	if s.before != nil {
		if err := s.before(write); err != nil {
			return err
		}
	}
	s.writes = append(s.writes, write)
	return nil
}

// get reads, and adds who owns spec.suspend. It refuses what client-go refuses to make a path of, which is no NotFound.
func (s *stage) get(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if wrong := content.IsPathSegmentName(k.Name); len(wrong) > 0 || k.Name == "" {
		return fmt.Errorf("invalid resource name %q: %v", k.Name, wrong)
	}
	if wrong := content.IsPathSegmentName(k.Namespace); len(wrong) > 0 {
		return fmt.Errorf("invalid namespace %q: %v", k.Namespace, wrong)
	}
	err := c.Get(ctx, k, o, opts...)
	if k, ok := o.(*kustomizev1.Kustomization); ok && err == nil {
		k.ManagedFields = []metav1.ManagedFieldsEntry{s.suspendOwner, {
			Manager: v1alpha1.HolderFieldManager, Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:holdfast.dev/held-by":{}}}}`),
		}}
	}
	return err
}

// recording is the client the holder writes the trigger and Events through.
func (s *stage) recording() client.Client {
	return interceptor.NewClient(s.store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if f, ok := o.(*v1alpha1.FluxTrigger); ok && s.stale != nil {
				s.stale.DeepCopyInto(f)
				return nil
			}
			return s.get(ctx, c, k, o, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, ac runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ac)
			if err != nil {
				return err
			}
			phase, _, err := unstructured.NestedString(u, "status", "operation", "phase")
			if err != nil {
				return err
			}
			if err := s.note(strings.TrimSpace("status " + phase)); err != nil {
				return err
			}
			return c.SubResource(sub).Apply(ctx, ac, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := s.note("finalizers"); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := s.note("event " + o.(*eventsv1.Event).Reason); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
}

// stageApplier does to the stage's Kustomization what server-side apply would. The fake server cannot: it takes each field
// the Go type always carries for one that was applied, and empties spec.sourceRef.
type stageApplier stage

func (a *stageApplier) Suspend(ctx context.Context, t applier.Target, h applier.Hold) error {
	return a.write(ctx, "suspend", t, true, map[string]string{v1alpha1.HeldByAnnotation: h.By, meta.ReconcileRequestAnnotation: h.Token})
}

func (a *stageApplier) Resume(ctx context.Context, t applier.Target, heldBy, token string) error {
	return a.write(ctx, "resume", t, false, map[string]string{v1alpha1.HeldByAnnotation: heldBy, meta.ReconcileRequestAnnotation: token})
}

func (a *stageApplier) Release(ctx context.Context, t applier.Target) error {
	if err := a.write(ctx, "release", t, false, nil); err != nil {
		return err
	}
	a.suspendOwner = metav1.ManagedFieldsEntry{}
	return nil
}

func (a *stageApplier) GiveUp(context.Context, applier.Target) error {
	return (*stage)(a).note("give up")
}

func (a *stageApplier) Freeze(context.Context, applier.Target, string) error {
	return (*stage)(a).note("freeze")
}

func (a *stageApplier) Thaw(context.Context, applier.Target) error {
	return (*stage)(a).note("thaw")
}

func (a *stageApplier) Fetch(context.Context, applier.Target, string) error {
	return (*stage)(a).note("fetch")
}

// write changes the Kustomization unless it is not what t names any more.
func (a *stageApplier) write(ctx context.Context, name string, t applier.Target, suspend bool, annotations map[string]string) error {
	if t.ResourceVersion != "" {
		name += " guarded"
	}
	if err := (*stage)(a).note(name); err != nil {
		return err
	}
	k := &kustomizev1.Kustomization{}
	if err := a.store.Get(ctx, t.NamespacedName, k); err != nil {
		return fmt.Errorf("%w: %w", applier.ErrMoved, err)
	}
	if k.UID != t.UID || t.ResourceVersion != "" && k.ResourceVersion != t.ResourceVersion {
		return applier.ErrMoved
	}
	k.Spec.Suspend, k.Annotations, k.Finalizers = suspend, annotations, nil
	if annotations != nil {
		k.Finalizers = []string{v1alpha1.HoldFinalizer}
	}
	k.Generation++
	a.suspendOwner = ownerOf(v1alpha1.HolderFieldManager, metav1.ManagedFieldsOperationApply)
	return a.store.Update(ctx, k)
}

func ownerOf(manager string, op metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`)}
}

// pass reconciles once and returns what was written meanwhile.
func (s *stage) pass() []string {
	s.t.Helper()
	s.writes = nil
	if _, err := s.r.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		s.t.Fatal(err)
	}
	return s.writes
}

func (s *stage) wrote(step string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.pass()); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", step, diff)
	}
}

func (s *stage) trigger() *v1alpha1.FluxTrigger {
	s.t.Helper()
	f := &v1alpha1.FluxTrigger{}
	if err := s.store.Get(s.t.Context(), key, f); err != nil {
		s.t.Fatal(err)
	}
	return f
}

func (s *stage) kustomization() *kustomizev1.Kustomization {
	s.t.Helper()
	k := &kustomizev1.Kustomization{}
	if err := s.store.Get(s.t.Context(), key, k); err != nil {
		s.t.Fatal(err)
	}
	return k
}

// fluxWrites changes the Kustomization's status as its controller would.
func (s *stage) fluxWrites(change func(*kustomizev1.Kustomization)) {
	s.t.Helper()
	k := s.kustomization()
	change(k)
	if err := s.store.Status().Update(s.t.Context(), k); err != nil {
		s.t.Fatal(err)
	}
}

func handlesToken(k *kustomizev1.Kustomization) {
	k.Status.LastHandledReconcileAt = k.Annotations[meta.ReconcileRequestAnnotation]
}

func starts(k *kustomizev1.Kustomization) {
	k.Status.Conditions = []metav1.Condition{{Type: "Reconciling", Status: "True", Reason: "Progressing", ObservedGeneration: k.Generation, LastTransitionTime: metav1.Now()}}
}

func succeeds(k *kustomizev1.Kustomization) {
	k.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "ReconciliationSucceeded", LastTransitionTime: metav1.Now()}}
	k.Status.History = meta.History{{Digest: "d", LastReconciledStatus: "ReconciliationSucceeded", TotalReconciliations: 1}}
	k.Status.LastAppliedRevision = "main@sha1:" + commit
}

func (s *stage) request(id string) {
	s.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "holdfast.dev/v1alpha1", "kind": "FluxTrigger",
		"metadata": map[string]any{"namespace": "team", "name": "app"},
		"status": map[string]any{"request": map[string]any{
			"id": id, "reason": "Publish", "commit": commit, "revision": "main@sha1:" + commit, "requestedAt": "2026-03-01T10:00:00Z",
		}},
	}}
	if err := s.store.Status().Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.MirrorFieldManager)); err != nil {
		s.t.Fatal(err)
	}
}

// hold adopts the Kustomization and lets Flux handle that.
func (s *stage) hold() {
	s.t.Helper()
	s.pass()
	s.pass()
	s.fluxWrites(handlesToken)
	s.pass()
	if !status.IsTrue(s.trigger().Status.Conditions, v1alpha1.ConditionHeld) {
		s.t.Fatal("not held")
	}
}
