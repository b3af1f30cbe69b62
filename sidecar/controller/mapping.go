package controller

import (
	"context"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
