package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/statusapply"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// report tells people what was done, writes the status when it changes, and counts. What was done to an applier is told
// before the status is written: when that write is lost, the next pass finds it done and has nothing to tell. A verdict is
// told after: until it is written it is none.
func (r *Reconciler) report(ctx context.Context, s hold.Seen, a hold.Action) error {
	done := a.Verb != hold.Wait
	if done {
		r.tell(ctx, s, a)
	}
	if a.Status != nil {
		now, next := hold.Own(s.Trigger.Status), hold.Own(*a.Status)
		if err := statusapply.Write(ctx, r.Client, v1alpha1.HolderFieldManager, "FluxTrigger", s.Trigger, now, next); err != nil {
			return err
		}
	}
	r.Metrics.observe(s, a)
	if !done {
		r.tell(ctx, s, a)
	}
	return nil
}

// changes says that the action's status differs from what the holder wrote before.
func changes(s hold.Seen, a hold.Action) bool {
	return a.Status != nil && !equality.Semantic.DeepEqual(hold.Own(*a.Status), hold.Own(s.Trigger.Status))
}
