package sim

import (
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

const (
	// maxTrouble bounds the steps in which there is trouble, maxPeace those after it. A world that still moves then never
	// comes to rest, which is a promise broken too.
	maxTrouble, maxPeace = 600, 6000

	// peace is how long everybody is left alone at the end: longer than any deadline of the holder.
	peace = 15 * time.Minute
)

// plan is what one simulation is about.
type plan struct {
	seed   uint64
	deeds  []deed
	often  float64         // how likely the next deed is before anything else
	chance float64         // of trouble for each effect of the holder
	fates  map[int]fate    // planned, for the nth effect of the holder
	named  map[string]fate // planned, for the first effect of that name
	quick  bool            // nothing lags: what can happen at once does, in order
	slow   string          // an actor that only moves when nobody else can
	gate   bool            // CancelHealthCheckOnNewRevision
}

// run carries out a plan and returns the world as it ended, and the promise that was broken.
func run(p plan, v *Visits, tell bool) (*World, error) {
	w, err := newWorld(p.seed, v)
	if err != nil {
		return nil, err
	}
	w.told.on, w.gate, w.orderly = tell, p.gate, p.quick
	w.faults = faults{chance: p.chance, planned: p.fates, named: maps.Clone(p.named)}
	s := newScheduler(w, p)
	s.trouble()
	s.peace()
	v.Runs++
	v.Steps += w.steps
	v.Orders[s.order.Sum64()] = true
	return w, w.promises.broken
}

// scheduler decides what happens next.
type scheduler struct {
	w     *World
	plan  plan
	order hash.Hash64
	pace  map[string]float64 // how quick each actor is, in this simulation
}

func newScheduler(w *World, p plan) *scheduler {
	return &scheduler{w: w, plan: p, order: fnv.New64a(), pace: map[string]float64{}}
}

// actor is somebody with steps of their own.
type actor struct {
	name  string
	steps []flux.Step
}

// trouble goes on until all deeds are done and nothing can happen at once, or for long enough.
func (s *scheduler) trouble() {
	w, left := s.w, s.plan.deeds
	for w.steps < maxTrouble && w.promises.broken == nil {
		actors := s.actors()
		switch {
		case len(left) > 0 && s.due(left[0], actors):
			s.do(flux.Step{What: left[0].what, Do: func() {
				if err := left[0].do(w); err != nil {
					w.told.add(w, fmt.Sprintf("  which fails: %v", err))
				}
			}})
			left = left[1:]
		case len(actors) == 0:
			if !s.skip(w.now.Add(time.Minute)) {
				return
			}
		case !s.plan.quick && w.rand.IntN(40) == 0:
			s.skip(w.now.Add(time.Minute))
		default:
			s.one(actors)
		}
	}
}

// due says that the deed is done now: when what it waits for is there, or when it may be at any time and chance has it or
// there is nothing else to do.
func (s *scheduler) due(d deed, actors []actor) bool {
	if d.when != nil && d.when(s.w) {
		return true
	}
	return len(actors) == 0 || d.when == nil && s.w.rand.Float64() < s.plan.often
}

// peace ends all trouble, and lets everything happen that still can.
func (s *scheduler) peace() {
	w := s.w
	w.effects, w.unmet = w.faults.effects, len(w.faults.named)
	w.faults = faults{}
	w.unhealthy = false
	w.source.Down(false)
	w.told.add(w, "PEACE")
	until, limit := w.now.Add(peace), w.steps+maxPeace
	for w.promises.broken == nil {
		actors := s.actors()
		switch {
		case w.steps >= limit:
			w.promises.breaks("the world comes to rest: it still moves after %d steps", maxPeace)
		case len(actors) > 0:
			s.one(actors)
		case !s.skip(until):
			w.promises.settled()
			return
		}
	}
}

// actors returns everybody who can do something now.
func (s *scheduler) actors() []actor {
	w := s.w
	var all []actor
	add := func(name string, steps []flux.Step) {
		if len(steps) > 0 {
			all = append(all, actor{name, steps})
		}
	}
	s.reap()
	add("pods", w.podSteps())
	for _, h := range w.holders {
		if !h.dead {
			add("holder of "+h.pod, h.steps())
		}
	}
	for _, k := range w.kustomize {
		add(k.Name, k.Steps())
	}
	add("source", w.source.Steps())
	add("late", w.lateSteps())
	if step := w.mirror.step(); step != nil {
		add("mirror", []flux.Step{{What: "gitmirror looks", Do: step}})
	}
	return all
}

// reap ends processes that lost their lease long enough ago.
func (s *scheduler) reap() {
	w := s.w
	for len(w.zombies) > 0 && !w.zombies[0].After(w.now) {
		w.kustomize[0].Kill()
		w.kustomize, w.zombies = w.kustomize[1:], w.zombies[1:]
	}
}

// one lets one of the actors have one step, the quicker ones more often.
func (s *scheduler) one(actors []actor) {
	if s.plan.quick {
		first := slices.IndexFunc(actors, func(a actor) bool { return a.name != s.plan.slow })
		s.do(actors[max(first, 0)].steps[0])
		return
	}
	sum := 0.0
	for _, a := range actors {
		sum += s.paceOf(a.name)
	}
	at := s.w.rand.Float64() * sum
	for _, a := range actors {
		if at -= s.paceOf(a.name); at < 0 {
			s.do(a.steps[s.w.rand.IntN(len(a.steps))])
			return
		}
	}
	s.do(actors[len(actors)-1].steps[0])
}

func (s *scheduler) paceOf(name string) float64 {
	if _, ok := s.pace[name]; !ok {
		s.pace[name] = []float64{0.1, 0.5, 1, 1, 3}[s.w.rand.IntN(5)]
	}
	return s.pace[name]
}

// do has a step happen, which takes a little time.
func (s *scheduler) do(step flux.Step) {
	w := s.w
	w.steps++
	w.now = w.now.Add(time.Duration(1+w.rand.IntN(20)) * time.Millisecond)
	fmt.Fprintln(s.order, step.What)
	w.told.add(w, step.What)
	step.Do()
}

// skip lets time pass to when something can happen by itself; false when nothing can until then.
func (s *scheduler) skip(until time.Time) bool {
	w := s.w
	var wake time.Time
	earlier := func(t time.Time) {
		if t.After(w.now) && (wake.IsZero() || t.Before(wake)) {
			wake = t
		}
	}
	for _, h := range w.holders {
		if !h.dead {
			earlier(h.wake())
		}
	}
	earlier(w.revives)
	for _, l := range w.late {
		earlier(l.at)
	}
	for _, k := range w.kustomize {
		earlier(k.Wake())
	}
	for _, z := range w.zombies {
		earlier(z)
	}
	earlier(w.source.Wake())
	earlier(w.mirror.again)
	if wake.IsZero() || wake.After(until) {
		return false
	}
	w.now = wake
	w.told.add(w, "time passes")
	return true
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
