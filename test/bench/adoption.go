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
	stepMarked    = "first request → finalizer"
	stepSuspended = "→ suspend sent"
	stepHandled   = "→ suspend handled"
	stepHeld      = "→ held"
)

var adoptionSteps = []string{stepMarked, stepSuspended, stepHandled, stepHeld}

// adoptions is what was seen of a team's triggers and their Kustomizations.
type adoptions struct {
	triggers, appliers watch.Interface
	held               map[string]bool                 // of every trigger that was seen
	before             map[string]bool                 // Kustomizations that were held before the holder's start
	marks              map[string]map[string]time.Time // when each step was first seen, by Kustomization
}

// watchAdoptions begins to look at n triggers, and sees what they are while no holder runs: what is held then is adopted no
// more. The watches end with ctx.
func (b *bench) watchAdoptions(ctx context.Context, n int) (*adoptions, error) {
	c, err := watcher(b.world)
	if err != nil {
		return nil, err
	}
	a := newAdoptions()
	if a.triggers, err = c.Watch(ctx, &v1alpha1.FluxTriggerList{}, client.InNamespace(idleTeam)); err != nil {
		return nil, fmt.Errorf("watch the triggers: %w", err)
	}
	if a.appliers, err = c.Watch(ctx, &kustomizev1.KustomizationList{}, client.InNamespace(cluster.FluxNamespace)); err != nil {
		return nil, fmt.Errorf("watch the Kustomizations: %w", err)
	}
	if err := a.until(ctx, func() bool { return len(a.held) == n }); err != nil {
		return nil, err
	}
	for name, marks := range a.marks {
		if _, held := marks[stepHeld]; held {
			a.before[name] = true
		}
	}
	return a, nil
}

func newAdoptions() *adoptions {
	return &adoptions{held: map[string]bool{}, before: map[string]bool{}, marks: map[string]map[string]time.Time{}}
}

// allHeld waits until every trigger is held with nothing in flight.
func (a *adoptions) allHeld(ctx context.Context) error {
	return a.until(ctx, func() bool {
		for _, held := range a.held {
			if !held {
				return false
			}
		}
		return true
	})
}

// until takes in what the watches show until done.
func (a *adoptions) until(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, heldBound, fmt.Errorf("not within %s", heldBound))
	defer cancel()
	for !done() {
		var event watch.Event
		select {
		case event = <-a.triggers.ResultChan():
		case event = <-a.appliers.ResultChan():
		case <-ctx.Done():
			return fmt.Errorf("watch the triggers become held: %w", context.Cause(ctx))
		}
		switch o := event.Object.(type) {
		case *v1alpha1.FluxTrigger:
			a.trigger(o, time.Now())
		case *kustomizev1.Kustomization:
			a.applier(o, time.Now())
		default:
			return errors.New("the API server ended a watch")
		}
	}
	return nil
}

// trigger notes what the trigger shows.
func (a *adoptions) trigger(f *v1alpha1.FluxTrigger, at time.Time) {
	name := f.Spec.KustomizationRef.Name
	if slices.Contains(f.Finalizers, v1alpha1.HoldFinalizer) {
		a.mark(name, stepMarked, at)
	}
	c := status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
	if a.held[f.Name] = c != nil && v1alpha1.Reason(c.Reason) == v1alpha1.ReasonSuspended; a.held[f.Name] {
		a.mark(name, stepHeld, at)
	}
}

// applier notes what the Kustomization shows. It is made suspended, so held-by is the sign that the holder suspended it.
func (a *adoptions) applier(k *kustomizev1.Kustomization, at time.Time) {
	if k.Annotations[v1alpha1.HeldByAnnotation] == "" {
		return
	}
	a.mark(k.Name, stepSuspended, at)
	if k.Status.LastHandledReconcileAt == k.Annotations[meta.ReconcileRequestAnnotation] {
		a.mark(k.Name, stepHandled, at)
	}
}

// mark notes the step, the first time it is seen.
func (a *adoptions) mark(name, step string, at time.Time) {
	if a.marks[name] == nil {
		a.marks[name] = map[string]time.Time{}
	}
	l := lap{marks: a.marks[name]}
	l.mark(step, at)
}

// since returns the adoptions that came to their end, timed from begin.
func (a *adoptions) since(begin time.Time) laps {
	var all laps
	for name, marks := range a.marks {
		if end, held := marks[stepHeld]; held && !a.before[name] {
			all = append(all, lap{begin: begin, end: end, marks: marks})
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
