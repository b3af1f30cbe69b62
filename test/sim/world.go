package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/controller"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// app names the one Kustomization of the world and its trigger, repo the GitRepository and the GitProvider.
var (
	app  = types.NamespacedName{Namespace: "team", Name: "app"}
	repo = types.NamespacedName{Namespace: "team", Name: "app"}
)

// World is everything there is in one simulation. It runs on one goroutine.
type World struct {
	Server *apiserver.Server
	Client *apiserver.Client // of an administrator: reads live, and nothing comes between
	Repo   *flux.Repo
	Truth  *flux.Truth

	kustomize []*flux.Kustomize // those before the last one have lost their lease
	revives   time.Time         // when the killed leader's pod gets the lease again; zero: the last one lives
	leads     identity          // whom the Lease names
	source    *flux.Source
	holders   []*holder // one a pod, dead or alive
	mirror    *mirror
	late      []*late     // requests that are still on their way
	arriving  bool        // one of them arrives in this step
	zombies   []time.Time // until when each process that has lost its lease may still write

	now       time.Time
	rand      *rand.Rand
	steps     int
	unhealthy bool // what is applied does not become ready
	faults    faults
	effects   int // of the holders, while there was trouble
	unmet     int // effects named in the plan that never came
	promises  *promises
	told      transcript
	visits    *Visits
	processes int
	gate      bool
	orderly   bool // see plan.quick
}

// start is when every simulation begins.
var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// newWorld returns a world in which Flux has been installed and nothing has happened yet.
func newWorld(seed uint64, v *Visits) (*World, error) {
	kinds, err := apiserver.Kinds()
	if err != nil {
		return nil, err
	}
	w := &World{now: start, rand: rand.New(rand.NewPCG(seed, 0)), Repo: &flux.Repo{}, Truth: flux.NewTruth(), visits: v}
	w.Server = apiserver.New(func() time.Time { return w.now }, kinds)
	scheme := runtime.NewScheme()
	if err := controller.AddToScheme(scheme); err != nil {
		return nil, err
	}
	w.Client = &apiserver.Client{Server: w.Server, Types: scheme, Indexes: indexes}
	w.promises = newPromises(w)
	w.Server.Seen = w.promises.changed
	w.Truth.Starting = w.promises.runBegins
	w.Repo.Push("first", false)
	if err := w.furnish(); err != nil {
		return nil, err
	}
	w.source = flux.NewSource(w.env())
	w.lead("pod-1")
	w.mirror = &mirror{w: w}
	return w, nil
}

func (w *World) env() flux.Env {
	return flux.Env{
		Client: *w.Client, Now: func() time.Time { return w.now }, Repo: w.Repo, Truth: w.Truth,
		Healthy: func() bool { return !w.unhealthy }, CancelHealthCheckOnNewRevision: w.gate,
	}
}

// furnish makes what a team has that uses Holdfast.
func (w *World) furnish() error {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: app.Namespace, Name: name} }
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace}},
		&v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DefaultKubeProvider}, Spec: v1alpha1.KubeProviderSpec{InCluster: true}},
		&v1alpha1.GitProvider{ObjectMeta: in(repo.Name), Spec: v1alpha1.GitProviderSpec{URL: "https://git.example/team/app"}},
		gitTarget(),
		&sourcev1.GitRepository{ObjectMeta: in(repo.Name), Spec: sourcev1.GitRepositorySpec{
			URL: "https://git.example/team/app.git", Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
			Interval: metav1.Duration{Duration: 5 * time.Minute},
		}},
		kustomization(),
		fluxTrigger(),
	} {
		if err := w.Client.Create(context.Background(), o, client.FieldOwner("kubectl-create")); err != nil {
			return fmt.Errorf("furnish: create %T: %w", o, err)
		}
	}
	return nil
}

func gitTarget() *v1alpha1.GitTarget {
	return &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "web"}, Spec: v1alpha1.GitTargetSpec{
		GitProviderRef: v1alpha1.LocalReference{Name: repo.Name}, Branch: "main",
		ApplyTriggerRef: &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: app.Name},
	}}
}

func kustomization() *kustomizev1.Kustomization {
	return &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}, Spec: kustomizev1.KustomizationSpec{
		Path: "./apps", Prune: true, Interval: metav1.Duration{Duration: 10 * time.Minute}, RetryInterval: &metav1.Duration{Duration: 20 * time.Second},
		Timeout:   &metav1.Duration{Duration: 3 * time.Minute},
		SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: repo.Name},
	}}
}

func fluxTrigger() *v1alpha1.FluxTrigger {
	return &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}, Spec: v1alpha1.FluxTriggerSpec{
		KustomizationRef: v1alpha1.NamespacedReference(app),
	}}
}

// trigger returns the trigger as it is; nil when it is gone.
func (w *World) trigger() *v1alpha1.FluxTrigger {
	o := w.object(v1alpha1.GroupVersion.WithKind("FluxTrigger"), app)
	if o == nil {
		return nil
	}
	return apiserver.As[v1alpha1.FluxTrigger](o)
}

// applier returns the Kustomization as it is; nil when it is gone.
func (w *World) applier() *kustomizev1.Kustomization {
	o := w.object(kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind), app)
	if o == nil {
		return nil
	}
	return apiserver.As[kustomizev1.Kustomization](o)
}
