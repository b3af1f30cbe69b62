package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// heldBound is for all triggers to be held, on a busy machine.
const heldBound = 5 * time.Minute

// addTriggers makes the team's triggers number had to n-1: each with a GitTarget that names it and a Kustomization of its
// own, all of one GitRepository. The Kustomizations are made suspended, so that Flux does not first apply each of them.
func addTriggers(ctx context.Context, team *scene.Team, had, n int) error {
	if had == 0 {
		if err := team.Furnish(ctx); err != nil { // the first
			return err
		}
		had = 1
	}
	first, err := team.Kustomization(ctx)
	if err != nil {
		return err
	}
	for i := had; i < n; i++ {
		name := fmt.Sprintf("web-%03d", i)
		k := first.DeepCopy()
		k.ObjectMeta = metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: team.Name + name[3:]}
		k.Spec.Suspend = true
		objs := []client.Object{k}
		for _, o := range team.Holdfast() {
			switch o := o.(type) {
			case *v1alpha1.GitTarget:
				o.Name, o.Spec.ApplyTriggerRef.Name = name, name
				objs = append(objs, o)
			case *v1alpha1.FluxTrigger:
				o.Name, o.Spec.KustomizationRef.Name = name, k.Name
				objs = append(objs, o)
			}
		}
		for _, o := range objs {
			if err := team.Client.Create(ctx, o); err != nil {
				return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}

// awaitHeld waits until n triggers of the team are held with nothing in flight, and returns when the last of them was seen to be.
func (b *bench) awaitHeld(ctx context.Context, n int) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, heldBound, fmt.Errorf("not within %s", heldBound))
	defer cancel()
	c, err := watcher(b.world)
	if err != nil {
		return time.Time{}, err
	}
	stream, err := c.Watch(ctx, &v1alpha1.FluxTriggerList{}, client.InNamespace(idleTeam))
	if err != nil {
		return time.Time{}, fmt.Errorf("watch the triggers: %w", err)
	}
	defer stream.Stop()
	held := map[string]bool{}
	for {
		select {
		case event, open := <-stream.ResultChan():
			f, ok := event.Object.(*v1alpha1.FluxTrigger)
			if !open || !ok {
				return time.Time{}, errors.New("the API server ended the watch of the triggers")
			}
			c := status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
			if c == nil || v1alpha1.Reason(c.Reason) != v1alpha1.ReasonSuspended {
				delete(held, f.Name)
				continue
			}
			if held[f.Name] = true; len(held) == n {
				return time.Now(), nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("%d of %d triggers are held: %w", len(held), n, context.Cause(ctx))
		}
	}
}
