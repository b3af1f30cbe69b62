package controller

import (
	"context"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// The functions below say which triggers an object concerns. An update is mapped as it was and as it is, so a reference
// that moved wakes both ends.

// ofApplier returns the triggers that hold a Kustomization.
func (r *Reconciler) ofApplier(ctx context.Context, o client.Object) []reconcile.Request {
	return r.triggers(ctx, client.MatchingFields{triggersByApplier: client.ObjectKeyFromObject(o).String()})
}

// ofSource returns the triggers whose Kustomization fetches from a GitRepository.
func (r *Reconciler) ofSource(ctx context.Context, o client.Object) []reconcile.Request {
	var appliers kustomizev1.KustomizationList
	err := r.Client.List(ctx, &appliers, client.MatchingFields{appliersBySource: client.ObjectKeyFromObject(o).String()})
	if err != nil {
		log.FromContext(ctx).Error(err, "list Kustomizations of a GitRepository")
		return nil
	}
	var all []reconcile.Request
	for i := range appliers.Items {
		all = append(all, r.ofApplier(ctx, &appliers.Items[i])...)
	}
	return all
}

// ofTarget returns the trigger a GitTarget names.
func ofTarget(_ context.Context, o client.Object) []reconcile.Request {
	ref := o.(*v1alpha1.GitTarget).Spec.ApplyTriggerRef
	if ref == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}}}
}

// ofGitProvider returns the triggers named by the GitTargets that write through a GitProvider.
func (r *Reconciler) ofGitProvider(ctx context.Context, o client.Object) []reconcile.Request {
	var targets v1alpha1.GitTargetList
	err := r.Client.List(ctx, &targets, client.InNamespace(o.GetNamespace()), client.MatchingFields{targetsByProvider: o.GetName()})
	if err != nil {
		log.FromContext(ctx).Error(err, "list GitTargets of a GitProvider")
		return nil
	}
	var all []reconcile.Request
	for i := range targets.Items {
		all = append(all, ofTarget(ctx, &targets.Items[i])...)
	}
	return all
}

// ofKubeProvider returns the triggers of a cluster.
func (r *Reconciler) ofKubeProvider(ctx context.Context, o client.Object) []reconcile.Request {
	return r.triggers(ctx, client.MatchingFields{triggersByProvider: o.GetName()})
}

// ofNamespace returns the triggers in a namespace.
func (r *Reconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.triggers(ctx, client.InNamespace(o.GetName()))
}

// all returns every trigger.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.triggers(ctx)
}

// siblings wakes those who wait for a trigger: in line for its Kustomization, or for the source that its operation used.
func (r *Reconciler) siblings() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	line := func(ctx context.Context, t *v1alpha1.FluxTrigger, q queue) {
		for _, req := range r.triggers(ctx, client.MatchingFields{triggersByApplier: types.NamespacedName(t.Spec.KustomizationRef).String()}) {
			if req.NamespacedName != keyOf(t) {
				q.Add(req)
			}
		}
	}
	source := func(ctx context.Context, t *v1alpha1.FluxTrigger, q queue) {
		if used := uses(t); used != "" {
			key := nameOf(used)
			for _, req := range r.ofSource(ctx, &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}) {
				q.Add(req)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) {
			line(ctx, e.Object.(*v1alpha1.FluxTrigger), q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			line(ctx, e.Object.(*v1alpha1.FluxTrigger), q)
			source(ctx, e.Object.(*v1alpha1.FluxTrigger), q)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			was, is := e.ObjectOld.(*v1alpha1.FluxTrigger), e.ObjectNew.(*v1alpha1.FluxTrigger)
			if uses(was) != uses(is) {
				source(ctx, was, q)
			}
			if uses(was) != uses(is) || !slices.Equal(was.Finalizers, is.Finalizers) || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() {
				line(ctx, is, q)
			}
		},
	}
}

func (r *Reconciler) triggers(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	var triggers v1alpha1.FluxTriggerList
	if err := r.Client.List(ctx, &triggers, opts...); err != nil {
		log.FromContext(ctx).Error(err, "list FluxTriggers of an object")
		return nil
	}
	all := make([]reconcile.Request, 0, len(triggers.Items))
	for i := range triggers.Items {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&triggers.Items[i])})
	}
	return all
}
