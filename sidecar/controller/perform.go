package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// perform does the one effect of the action.
func (r *Reconciler) perform(ctx context.Context, s hold.Seen, a hold.Action) error {
	if a.Verb == hold.Wait {
		return nil
	}
	log.FromContext(ctx).V(1).Info("perform", "verb", a.Verb, "reason", a.Reason, "token", a.Token)
	switch a.Verb {
	case hold.AddFinalizer:
		return r.finalizer(ctx, s.Trigger, controllerutil.AddFinalizer)
	case hold.RemoveFinalizer:
		return r.finalizer(ctx, s.Trigger, controllerutil.RemoveFinalizer)
	case hold.Suspend:
		return r.Applier.Suspend(ctx, target(s.Kustomization, a), applier.Hold{By: cmp.Or(a.HeldBy, s.HeldBy()), Token: a.Token, ResumedBy: a.ResumedBy})
	case hold.Resume:
		return r.Applier.Resume(ctx, target(s.Kustomization, a), s.HeldBy(), a.Token)
	case hold.Release:
		return r.Applier.Release(ctx, target(s.Kustomization, a))
	case hold.GiveUp:
		return r.Applier.GiveUp(ctx, target(s.Kustomization, a))
	case hold.Freeze:
		return r.Applier.Freeze(ctx, target(s.Frozen, a), a.Token)
	case hold.Thaw:
		return r.Applier.Thaw(ctx, target(s.Frozen, a))
	case hold.Fetch:
		return r.Applier.Fetch(ctx, target(s.GitRepository, a), a.Token)
	}
	return fmt.Errorf("no effect is known by the name of %q", a.Verb)
}

// finalizer changes the trigger's finalizers, all of which are one list: guarded by the resourceVersion that was read.
func (r *Reconciler) finalizer(ctx context.Context, trigger *v1alpha1.FluxTrigger, change func(client.Object, string) bool) error {
	next := trigger.DeepCopy()
	next.Finalizers = slices.Clone(trigger.Finalizers)
	if !change(next, v1alpha1.HoldFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(trigger, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, next, patch, client.FieldOwner(v1alpha1.HolderFieldManager)); err != nil {
		return fmt.Errorf("change the finalizers of FluxTrigger %s/%s: %w", trigger.Namespace, trigger.Name, err)
	}
	return nil
}

// target names the object as it was read; its resourceVersion counts only where the action is guarded.
func target(o client.Object, a hold.Action) applier.Target {
	t := applier.Target{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, UID: o.GetUID()}
	if a.Guarded {
		t.ResourceVersion = o.GetResourceVersion()
	}
	return t
}
