package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Wakes carries objects whose reconcilers must look again because of something outside the cluster.
type Wakes chan event.GenericEvent

// Wake asks for another look at the object of that name; the kind is given by who listens.
func (w Wakes) Wake(ctx context.Context, name types.NamespacedName) {
	obj := &v1alpha1.GitTarget{}
	obj.Namespace, obj.Name = name.Namespace, name.Name
	select {
	case w <- event.GenericEvent{Object: obj}:
	case <-ctx.Done():
	}
}

// again turns a write that lost its compare-and-swap into another pass, which reads and decides anew. An object that is
// gone by the time of the write needs none.
func again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 1}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// lister names the objects that an event concerns.
type lister func(ctx context.Context, c client.Client, obj client.Object) []types.NamespacedName

// mapTo enqueues what list names.
func mapTo(c client.Client, list lister) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		var reqs []reconcile.Request
		for _, n := range list(ctx, c, obj) {
			reqs = append(reqs, reconcile.Request{NamespacedName: n})
		}
		return reqs
	})
}

// namesOf returns the names of the items for which keep holds.
func namesOf[T any, P interface {
	*T
	client.Object
}](items []T, keep func(P) bool) []types.NamespacedName {
	var names []types.NamespacedName
	for i := range items {
		if p := P(&items[i]); keep(p) {
			names = append(names, client.ObjectKeyFromObject(p))
		}
	}
	return names
}

func listKubeProviders(ctx context.Context, c client.Client, _ client.Object) []types.NamespacedName {
	var all v1alpha1.KubeProviderList
	if err := c.List(ctx, &all); err != nil {
		return nil // the cache is stopping
	}
	return namesOf(all.Items, func(*v1alpha1.KubeProvider) bool { return true })
}

// targetsWhere names the GitTargets of obj's namespace, or of all when it has none, for which keep holds.
func targetsWhere(keep func(t *v1alpha1.GitTarget, obj client.Object) bool) lister {
	return func(ctx context.Context, c client.Client, obj client.Object) []types.NamespacedName {
		var all v1alpha1.GitTargetList
		if err := c.List(ctx, &all, client.InNamespace(obj.GetNamespace())); err != nil {
			return nil // the cache is stopping
		}
		return namesOf(all.Items, func(t *v1alpha1.GitTarget) bool { return keep(t, obj) })
	}
}

// listTargetsIn names the GitTargets of a namespace.
func listTargetsIn(ctx context.Context, c client.Client, namespace client.Object) []types.NamespacedName {
	var all v1alpha1.GitTargetList
	if err := c.List(ctx, &all, client.InNamespace(namespace.GetName())); err != nil {
		return nil // the cache is stopping
	}
	return namesOf(all.Items, func(*v1alpha1.GitTarget) bool { return true })
}
