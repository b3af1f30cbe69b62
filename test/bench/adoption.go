package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// The steps of an adoption, in order.
const (
	stepMarked    = "start → finalizer"
	stepSuspended = "→ suspend sent"
	stepHandled   = "→ suspend handled"
	stepHeld      = "→ held"
)

var adoptionSteps = []string{stepMarked, stepSuspended, stepHandled, stepHeld}

// adoptions is when each step of each adoption was seen, by the Kustomization's name.
type adoptions map[string]*lap

// awaitHeld waits until n triggers of the team are held with nothing in flight, and returns what was seen until then.
func (b *bench) awaitHeld(ctx context.Context, n int) (adoptions, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, heldBound, fmt.Errorf("not within %s", heldBound))
	defer cancel()
	c, err := watcher(b.world)
	if err != nil {
		return nil, err
	}
	triggers, err := c.Watch(ctx, &v1alpha1.FluxTriggerList{}, client.InNamespace(idleTeam))
	if err != nil {
		return nil, fmt.Errorf("watch the triggers: %w", err)
	}
	defer triggers.Stop()
	appliers, err := c.Watch(ctx, &kustomizev1.KustomizationList{}, client.InNamespace(cluster.FluxNamespace))
	if err != nil {
		return nil, fmt.Errorf("watch the Kustomizations: %w", err)
	}
	defer appliers.Stop()
	all, held := adoptions{}, map[string]bool{}
	for len(held) < n {
		var event watch.Event
		open := false
		select {
		case event, open = <-triggers.ResultChan():
		case event, open = <-appliers.ResultChan():
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d triggers are held: %w", len(held), n, context.Cause(ctx))
		}
		at := time.Now()
		switch o := event.Object.(type) {
		case *v1alpha1.FluxTrigger:
			if all.trigger(o, at) {
				held[o.Name] = true
			} else {
				delete(held, o.Name)
			}
		case *kustomizev1.Kustomization:
			all.applier(o, at)
		default:
			open = false
		}
		if !open {
			return nil, errors.New("the API server ended a watch")
		}
	}
	return all, nil
}

// trigger notes what the trigger shows, and says that it is held.
func (a adoptions) trigger(f *v1alpha1.FluxTrigger, at time.Time) bool {
	l := a.of(f.Spec.KustomizationRef.Name)
	if slices.Contains(f.Finalizers, v1alpha1.HoldFinalizer) {
		l.mark(stepMarked, at)
	}
	c := status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
	if c == nil || v1alpha1.Reason(c.Reason) != v1alpha1.ReasonSuspended {
		return false
	}
	l.mark(stepHeld, at)
	return true
}

// applier notes what the Kustomization shows. It is made suspended, so held-by is the sign that the holder suspended it.
func (a adoptions) applier(k *kustomizev1.Kustomization, at time.Time) {
	if k.Annotations[v1alpha1.HeldByAnnotation] == "" {
		return
	}
	l := a.of(k.Name)
	l.mark(stepSuspended, at)
	if k.Status.LastHandledReconcileAt == k.Annotations[meta.ReconcileRequestAnnotation] {
		l.mark(stepHandled, at)
	}
}

func (a adoptions) of(name string) *lap {
	if a[name] == nil {
		a[name] = &lap{marks: map[string]time.Time{}}
	}
	return a[name]
}

// since returns the adoptions that ended after begin, timed from then. What was held before is none.
func (a adoptions) since(begin time.Time) laps {
	var all laps
	for _, l := range a {
		if end, ok := l.marks[stepHeld]; ok && end.After(begin) {
			all = append(all, lap{begin: begin, end: end, marks: l.marks})
		}
	}
	return all
}

// first and last are how long after begin the first and the last of them had come to the end of the step.
func (ls laps) first(step string) time.Duration {
	if all := ls.until(step); len(all) > 0 {
		return slices.Min(all)
	}
	return 0
}

func (ls laps) last(step string) time.Duration {
	if all := ls.until(step); len(all) > 0 {
		return slices.Max(all)
	}
	return 0
}

// progress says where the time of adoptions goes: the median of each step, and when the first and the last had come through it.
func progress(ls laps) string {
	parts := make([]string, len(adoptionSteps))
	for i, p := range ls.phases(adoptionSteps) {
		parts[i] = fmt.Sprintf("%s %s (first at %s, last at %s)", p.name, ms(p.took.Median()), ms(ls.first(p.name)), ms(ls.last(p.name)))
	}
	return strings.Join(parts, " | ")
}
