package missing

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// stage is a labelled namespace, and an injector that looks at it.
type stage struct {
	t        *testing.T
	store    client.Client
	registry *prometheus.Registry
	r        *Reconciler
	ready    error
	room     inject.Room // what the namespace allows
	unread   error       // nil: that can be read
	owner    *metav1.OwnerReference
	evicts   func() error // what an eviction answers instead; nil: nothing
	did      []string     // restarts written down and evictions, in order
	ended    []string     // watches
}

func newStage(t *testing.T, consent bool) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, registry: prometheus.NewRegistry(), owner: &metav1.OwnerReference{APIVersion: "v1", Kind: "Owner", Name: "o", UID: "o"}}
	flux := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system", Labels: map[string]string{v1alpha1.InjectLabel: v1alpha1.InjectEnabled}}}
	s.store = fake.NewClientBuilder().WithScheme(scheme).WithObjects(flux).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, o, body client.Object, opts ...client.SubResourceCreateOption) error {
			if s.evicts != nil {
				if err := s.evicts(); err != nil {
					return err
				}
			}
			s.did = append(s.did, fmt.Sprintf("%s of %s", sub, o.GetName()))
			return c.SubResource(sub).Create(ctx, o, body, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			s.did = append(s.did, "written down")
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	s.lead(consent)
	return s
}

// lead starts another leader, which remembers nothing.
func (s *stage) lead(consent bool) {
	s.t.Helper()
	s.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(s.registry)
	if err != nil {
		s.t.Fatal(err)
	}
	s.r = &Reconciler{
		Client: s.store, Live: s.store, Consent: consent, Own: "holdfast-system", Pod: "holdfast-injector-0", Metrics: metrics,
		Policy: func() (inject.Policy, error) { return inject.DefaultPolicy(), nil },
		Room:   func(context.Context, string) (inject.Room, error) { return s.room, s.unread },
		Owner:  func() *metav1.OwnerReference { return s.owner },
		Ready:  func() error { return s.ready },
		Now:    func() time.Time { return now },
	}
	pods := func(ctx context.Context, namespace string) ([]corev1.Pod, error) {
		var all corev1.PodList
		err := s.store.List(ctx, &all, client.InNamespace(namespace))
		return all.Items, err
	}
	s.r.prepare(pods, func(namespace string) { s.ended = append(s.ended, namespace) })
}

func (s *stage) pass() {
	s.t.Helper()
	if _, err := s.r.Reconcile(s.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "flux-system"}}); err != nil {
		s.t.Fatal(err)
	}
}

// makes puts a pod of kustomize-controller into the namespace, an hour old.
func (s *stage) makes(name string) {
	s.t.Helper()
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "kustomize-controller-7d8f", UID: "w", Controller: ptr.To(true)}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "flux-system", Name: name, UID: types.UID("uid of " + name), OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{"app": "kustomize-controller"}, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{
			ServiceAccountName: "kustomize-controller",
			Containers: []corev1.Container{{
				Name: "manager", Image: "ghcr.io/fluxcd/kustomize-controller:v1.9.6",
				VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}},
			}},
			Volumes: []corev1.Volume{{Name: "token"}},
		},
	}
	if err := s.store.Create(s.t.Context(), p); err != nil {
		s.t.Fatal(err)
	}
}

// events are the reasons and the pods of all there are.
func (s *stage) events() []string {
	s.t.Helper()
	var all eventsv1.EventList
	if err := s.store.List(s.t.Context(), &all); err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, e := range all.Items {
		got = append(got, e.Type+" "+e.Reason+" "+e.Regarding.Name)
	}
	return got
}

func (s *stage) gauge() float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "holdfast_injector_pods_without_holder" {
			return f.Metric[0].Gauge.GetValue()
		}
	}
	return 0
}

func (s *stage) expect(what string, got, want []string) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("%s, -want +got:\n%s", what, diff)
	}
}

func TestAPodWithoutAHolderIsToldOfOnceAndCountedUntilItIsGone(t *testing.T) {
	s := newStage(t, false)
	s.makes("a")
	for range 3 {
		s.pass()
	}
	s.lead(false) // another one, which must not tell it again
	s.pass()
	s.expect("events", s.events(), []string{"Warning HolderMissing a"})
	if s.gauge() != 1 {
		t.Errorf("the metric says %v", s.gauge())
	}
	if err := s.store.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	s.pass()
	if s.gauge() != 0 || len(s.did) != 0 {
		t.Errorf("the metric says %v, and this was done: %v", s.gauge(), s.did)
	}
}

func TestARestartIsWrittenDownBeforeItIsDone(t *testing.T) {
	s := newStage(t, true)
	s.makes("a")
	s.pass()
	s.expect("done", s.did, []string{"written down", "eviction of a"})
	s.expect("events", s.events(), []string{"Warning HolderMissing a", "Normal Restarting a"})

	s.makes("b") // made in the place of a by a webhook that did not answer
	later := now.Add(2 * time.Hour)
	for range 2 {
		s.lead(true)
		s.r.Now = func() time.Time { return later }
		s.age("b", now.Add(time.Second))
		s.pass()
	}
	s.expect("done", s.did, []string{"written down", "eviction of a"})
	if got := s.events(); !strings.Contains(strings.Join(got, "\n"), "Warning RestartedInVain b") {
		t.Errorf("events: %q", got)
	}
}

func TestTheRecordOfRestartsGoesWithTheWebhookConfiguration(t *testing.T) {
	s := newStage(t, true)
	s.makes("a")
	s.owner, s.evicts = nil, func() error { t.Error("a pod is evicted, and nothing says so"); return nil }
	if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "flux-system"}}); err == nil {
		t.Error("it was written down for good")
	}
	s.owner, s.evicts = &metav1.OwnerReference{APIVersion: "v1", Kind: "Owner", Name: "o", UID: "o"}, nil
	s.pass()
	var c corev1.ConfigMap
	if err := s.store.Get(t.Context(), types.NamespacedName{Namespace: "holdfast-system", Name: recordName}, &c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{*s.owner}, c.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
}

// age gives a pod the time it was made.
func (s *stage) age(name string, at time.Time) {
	s.t.Helper()
	var p corev1.Pod
	if err := s.store.Get(s.t.Context(), types.NamespacedName{Namespace: "flux-system", Name: name}, &p); err != nil {
		s.t.Fatal(err)
	}
	p.CreationTimestamp = metav1.NewTime(at)
	if err := s.store.Update(s.t.Context(), &p); err != nil {
		s.t.Fatal(err)
	}
}

func TestABudgetIsRespectedAndAskedAgain(t *testing.T) {
	s := newStage(t, true)
	s.makes("a")
	s.evicts = func() error { return apierrors.NewTooManyRequests("a budget", 10) }
	s.pass()
	s.pass()
	s.expect("done", s.did, []string{"written down"})
	s.evicts = nil
	s.pass()
	s.expect("done", s.did, []string{"written down", "eviction of a"})
}

func TestNothingIsEvictedWhenTheInjectorIsNotReadyOrTheRecordCannotBeWritten(t *testing.T) {
	s := newStage(t, true)
	s.ready = errors.New("no certificate yet")
	s.makes("a")
	s.pass()
	s.expect("done", s.did, nil)

	s = newStage(t, true)
	s.makes("a")
	if err := s.store.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: recordName}, Data: map[string]string{"w": "?"},
	}); err != nil {
		t.Fatal(err)
	}
	_, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "flux-system"}})
	if err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("a record that cannot be read: %v", err)
	}
	s.expect("done", s.did, nil)
}

func TestANamespaceWithoutItsLabelIsWatchedNoMore(t *testing.T) {
	s := newStage(t, true)
	s.makes("a")
	s.r.Consent = false
	s.pass()
	var flux corev1.Namespace
	if err := s.store.Get(t.Context(), types.NamespacedName{Name: "flux-system"}, &flux); err != nil {
		t.Fatal(err)
	}
	flux.Labels[v1alpha1.InjectLabel] = v1alpha1.InjectDisabled
	if err := s.store.Update(t.Context(), &flux); err != nil {
		t.Fatal(err)
	}
	s.pass()
	s.expect("watches ended", s.ended, []string{"flux-system"})
	if s.gauge() != 0 {
		t.Errorf("the metric says %v", s.gauge())
	}
}

func TestOfPodsOfOthersOnlyTheNameIsKept(t *testing.T) {
	other := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "web", UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "x"}}}}},
	}
	got, err := strip(other)
	if err != nil {
		t.Fatal(err)
	}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "flux-system", Name: "web", UID: "u", ResourceVersion: "7"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnEventFitsWhateverThePodIsCalled(t *testing.T) {
	s := newStage(t, false)
	e := s.r.event("flux-system", Told{Pod: Pod{Name: strings.Repeat("n", 253)}, Reason: ReasonHolderMissing, Note: strings.Repeat("ü", 1000)}, now)
	if len(e.Name) > 253 || len(e.Note) > 1024 || strings.ContainsRune(e.Note, '\uFFFD') {
		t.Errorf("a name of %d bytes, a note of %d", len(e.Name), len(e.Note))
	}
}

// B7
func TestAPodIsNotEvictedWhereTheNextOneCouldNotHaveAHolderEither(t *testing.T) {
	s := newStage(t, true)
	full := corev1.ResourceList{corev1.ResourceLimitsCPU: resource.MustParse("500m")}
	s.room = inject.Room{Quotas: []corev1.ResourceQuota{{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Status: corev1.ResourceQuotaStatus{Hard: full}}}}
	s.makes("a")
	s.pass()
	s.expect("done", s.did, nil)
	s.expect("events", s.events(), []string{"Warning HolderMissing a"})
	var all eventsv1.EventList
	if err := s.store.List(t.Context(), &all); err != nil || !strings.Contains(all.Items[0].Note, "ResourceQuota small") {
		t.Errorf("%v: told %+v", err, all.Items)
	}

	s.unread = errors.New("no answer") // as the webhook does, it goes on as if there were no limits
	s.pass()
	s.expect("done", s.did, []string{"written down", "eviction of a"})
}
