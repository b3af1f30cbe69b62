package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
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
	if err := r.write(ctx, s.Trigger, a.Status); err != nil {
		return err
	}
	r.Metrics.observe(s, a)
	if !done {
		r.tell(ctx, s, a)
	}
	return nil
}

// write writes the status. An operation that is recorded needs its source for itself.
func (r *Reconciler) write(ctx context.Context, t *v1alpha1.FluxTrigger, status *v1alpha1.FluxTriggerStatus) error {
	if status == nil {
		return nil
	}
	if source := records(t, status); source != "" {
		if !r.memory.take(source, keyOf(t), t.UID) {
			return errSourceTaken
		}
		defer r.memory.written(source, t.UID)
	}
	now, next := hold.Own(t.Status), hold.Own(*status)
	if err := statusapply.Write(ctx, r.Client, v1alpha1.HolderFieldManager, "FluxTrigger", t, now, next); err != nil {
		return err
	}
	r.memory.follow(t.UID, next.Operation)
	return nil
}

// errSourceTaken says that another trigger has begun to record an operation on the same source since this pass looked.
var errSourceTaken = fmt.Errorf("another trigger is about to use the same source: %w", applier.ErrMoved)

// changes says that the action's status differs from what the holder wrote before.
func changes(s hold.Seen, a hold.Action) bool {
	return a.Status != nil && !equality.Semantic.DeepEqual(hold.Own(*a.Status), hold.Own(s.Trigger.Status))
}
