package sim

import (
	"slices"
	"time"

	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// late is a request that its sender has given up, and that arrives all the same.
type late struct {
	at time.Time
	flux.Step
}

// delays are how late a request may be. An API server answers none later than a minute.
var delays = []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 20 * time.Second}

// delay has a request arrive later.
func (w *World) delay(what string, do func()) {
	by := 2 * time.Second
	if !w.orderly {
		by = delays[w.rand.IntN(len(delays))]
	}
	l := &late{at: w.now.Add(by)}
	l.Step = flux.Step{What: what, Do: func() {
		w.late = slices.DeleteFunc(w.late, func(o *late) bool { return o == l })
		w.arriving = true
		do()
		w.arriving = false
	}}
	w.late = append(w.late, l)
}

// lateSteps returns the requests that may arrive now.
func (w *World) lateSteps() []flux.Step {
	var steps []flux.Step
	for _, l := range w.late {
		if !l.at.After(w.now) {
			steps = append(steps, l.Step)
		}
	}
	return steps
}
