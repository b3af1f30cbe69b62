package missing

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create
// +kubebuilder:rbac:groups="",namespace=holdfast-system,resources=configmaps,resourceNames=holdfast-injector-restarts,verbs=get;create;patch

// AddToScheme registers every kind this package reads or writes.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, eventsv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// CacheOnly is what a manager's cache must be limited to.
func CacheOnly() map[client.Object]cache.ByObject {
	enabled := labels.SelectorFromSet(labels.Set{v1alpha1.InjectLabel: v1alpha1.InjectEnabled})
	return map[client.Object]cache.ByObject{&corev1.Namespace{}: {Label: enabled}}
}

// SetupWithManager makes the replica that leads look at every labelled namespace, until ctx ends.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	w := &watches{ctx: ctx, open: map[string]*watch{}, changes: make(chan event.GenericEvent), begin: func(namespace string) (cache.Cache, error) {
		return cache.New(mgr.GetConfig(), cache.Options{
			Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: strip,
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
		})
	}}
	r.prepare(w.pods, w.end)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("missing").
		For(&corev1.Namespace{}).
		WatchesRawSource(source.Channel(w.changes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the search for pods without a holder: %w", err)
	}
	return nil
}

// prepare gives the reconciler what it works with.
func (r *Reconciler) prepare(pods func(context.Context, string) ([]corev1.Pod, error), end func(string)) {
	r.pods, r.end = pods, end
	r.told = map[string]map[telling]bool{}
	r.restarts = &restarts{client: r.Client, live: r.Live, own: r.Own, owner: r.Owner}
}
