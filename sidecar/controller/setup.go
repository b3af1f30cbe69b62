package controller

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// +kubebuilder:rbac:groups=holdfast.dev,resources=fluxtriggers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=holdfast.dev,resources=fluxtriggers/status,verbs=patch
// +kubebuilder:rbac:groups=holdfast.dev,resources=gittargets;gitproviders;kubeproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Names of the cache's indexes.
const (
	triggersByApplier  = "spec.kustomizationRef" // namespace/name
	targetsByTrigger   = "spec.applyTriggerRef"  // name, in the same namespace
	targetsByProvider  = "spec.gitProviderRef"   // name, in the same namespace
	appliersBySource   = "spec.sourceRef"        // namespace/name of a GitRepository
	triggersByProvider = "spec.kubeProviderRef"  // name
	triggersBySource   = "status.operation"      // namespace/name of the GitRepository an operation in flight uses
)

// workers is how many triggers are looked at at once. One trigger is never looked at twice at once.
const workers = 8

// AddToScheme registers every kind the holder reads or writes.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, kustomizev1.AddToScheme, sourcev1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// NewToken returns a token nobody used before. The time in it is for people; only the whole counts.
func NewToken() string {
	return "holdfast-" + time.Now().UTC().Format(time.RFC3339Nano) + "-" + rand.Text()[:8]
}

// ClusterUID returns what tells this cluster apart: the uid of the namespace kube-system.
func ClusterUID(ctx context.Context, live client.Reader) (string, error) {
	var ns corev1.Namespace
	if err := live.Get(ctx, types.NamespacedName{Name: "kube-system"}, &ns); err != nil {
		return "", fmt.Errorf("read namespace kube-system, whose uid names this cluster: %w", err)
	}
	return string(ns.UID), nil
}

// SetupWithManager builds the indexes and the watches. Everything a decision looks at is watched, so that a trigger at rest
// needs no timer. What comes through woken makes it look at every trigger.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, woken <-chan event.GenericEvent) error {
	for _, ix := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(ctx, ix.of, ix.name, ix.keys); err != nil {
			return fmt.Errorf("index %T by %s: %w", ix.of, ix.name, err)
		}
	}
	spec := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	each := handler.EnqueueRequestsFromMapFunc
	return ctrl.NewControllerManagedBy(mgr).
		Named("fluxtrigger").
		For(&v1alpha1.FluxTrigger{}).
		Watches(&v1alpha1.FluxTrigger{}, r.siblings()).
		Watches(&kustomizev1.Kustomization{}, each(r.ofApplier)).
		Watches(&sourcev1.GitRepository{}, each(r.ofSource)).
		Watches(&v1alpha1.GitTarget{}, each(ofTarget), spec).
		Watches(&v1alpha1.GitProvider{}, each(r.ofGitProvider), spec).
		Watches(&v1alpha1.KubeProvider{}, each(r.ofKubeProvider), spec).
		Watches(&corev1.Namespace{}, each(r.ofNamespace), builder.OnlyMetadata, builder.WithPredicates(predicate.LabelChangedPredicate{})).
		WatchesRawSource(source.Channel(woken, each(r.all))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](50*time.Millisecond, 30*time.Second),
		}).
		Complete(r)
}

// index lets the cache find objects by a reference they hold.
type index struct {
	of   client.Object
	name string
	keys client.IndexerFunc
}

var indexes = []index{
	{&v1alpha1.FluxTrigger{}, triggersByApplier, func(o client.Object) []string {
		return []string{types.NamespacedName(o.(*v1alpha1.FluxTrigger).Spec.KustomizationRef).String()}
	}},
	{&v1alpha1.FluxTrigger{}, triggersByProvider, func(o client.Object) []string {
		if name := o.(*v1alpha1.FluxTrigger).Spec.KubeProviderRef.Name; name != "" {
			return []string{name}
		}
		return []string{v1alpha1.DefaultKubeProvider}
	}},
	{&v1alpha1.FluxTrigger{}, triggersBySource, func(o client.Object) []string {
		if source := uses(o.(*v1alpha1.FluxTrigger)); source != "" {
			return []string{source}
		}
		return nil
	}},
	{&v1alpha1.GitTarget{}, targetsByTrigger, func(o client.Object) []string {
		if ref := o.(*v1alpha1.GitTarget).Spec.ApplyTriggerRef; ref != nil {
			return []string{ref.Name}
		}
		return nil
	}},
	{&v1alpha1.GitTarget{}, targetsByProvider, func(o client.Object) []string {
		return []string{o.(*v1alpha1.GitTarget).Spec.GitProviderRef.Name}
	}},
	{&kustomizev1.Kustomization{}, appliersBySource, func(o client.Object) []string {
		k := o.(*kustomizev1.Kustomization)
		if k.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind {
			return nil
		}
		return []string{hold.SourceOf(k).String()}
	}},
}
