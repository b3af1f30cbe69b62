package controller

import (
	"context"
	"errors"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// Stop suspends, once, every Kustomization that is resumed for an operation this holder follows. What another holder follows
// is not its business. It writes no status and waits for nothing: the next holder finds the record and follows it.
//
// Call it after the manager has stopped, when no pass runs any more: a manager ends all its runnables at the same instant,
// so one that suspends would race with a pass that resumes.
func (r *Reconciler) Stop(ctx context.Context) error {
	var triggers v1alpha1.FluxTriggerList
	if err := r.Live.List(ctx, &triggers); err != nil {
		return fmt.Errorf("stop: list FluxTriggers: %w", err)
	}
	var failed []error
	for i := range triggers.Items {
		if err := r.stopOne(ctx, &triggers.Items[i]); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func (r *Reconciler) stopOne(ctx context.Context, trigger *v1alpha1.FluxTrigger) error {
	if op := trigger.Status.Operation; op == nil || op.Phase.Final() || !r.memory.follows(trigger) {
		return nil
	}
	key := types.NamespacedName(trigger.Spec.KustomizationRef)
	k, err := get(ctx, r.Live, key, &kustomizev1.Kustomization{})
	if err != nil || !hold.ResumedByUs(trigger, k) {
		return err
	}
	s := hold.Seen{ClusterUID: r.ClusterUID, Trigger: trigger}
	token := r.NewToken()
	err = r.Applier.Suspend(ctx, target(k, hold.Action{}), applier.Hold{By: s.HeldBy(), Token: token})
	if errors.Is(err, applier.ErrMoved) {
		return nil // gone since, or another object: nothing of ours is resumed
	}
	if err == nil {
		log.FromContext(ctx).Info("suspended because the holder stops", "trigger", trigger.Namespace+"/"+trigger.Name, "applier", key.String(), "token", token)
	}
	return err
}
