package audit

import (
	"context"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit/join"
)

// Grace is how long a change waits for its fact where facts are expected; elsewhere no change waits at all.
const Grace = 3 * time.Second

// maxWaiting bounds the changes that wait for their facts; at the bound the joiner takes no more until some have gone on.
const maxWaiting = 20_000

// Facts is what a Joiner asks of an Index.
type Facts interface {
	Lookup(key fact.Key) (fact.Fact, bool)
	Expected() bool
	Listen() (added <-chan struct{}, stop func())
}

// Joiner runs join.Step: it lets each observed change wait for its fact, and hands it on with or without one.
type Joiner[P any] struct {
	facts    Facts
	in       chan observed[P]
	out      chan join.Attributed[P]
	finished chan struct{}
}

type observed[P any] struct {
	key      fact.Key
	payload  P
	nameless bool // no fact is looked for
}

// NewJoiner returns a Joiner over the facts of one cluster. Start must run for it to take anything.
func NewJoiner[P any](facts Facts) *Joiner[P] {
	return &Joiner[P]{
		facts: facts, in: make(chan observed[P]), out: make(chan join.Attributed[P]), finished: make(chan struct{}),
	}
}

// Observe hands a change over. It blocks while the joiner is full or while what it hands on is not taken, and returns
// the context's error when that ends first.
func (j *Joiner[P]) Observe(ctx context.Context, key fact.Key, payload P) error {
	return j.take(ctx, observed[P]{key: key, payload: payload})
}

// Pass is Observe for a change that needs no name, such as an object found at the start: it waits for the earlier changes
// of its object and for no fact.
func (j *Joiner[P]) Pass(ctx context.Context, key fact.Key, payload P) error {
	return j.take(ctx, observed[P]{key: key, payload: payload, nameless: true})
}

func (j *Joiner[P]) take(ctx context.Context, o observed[P]) error {
	select {
	case j.in <- o:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Out gives the changes that go on: those of one object in the order they were observed. It is never closed.
func (j *Joiner[P]) Out() <-chan join.Attributed[P] { return j.out }

// Finish says that no change is handed over any more. Start then returns once all that wait have gone on, which takes
// no longer than Grace where they are taken. To be called once.
func (j *Joiner[P]) Finish() { close(j.finished) }

// Start runs until ctx is done, or what there was when Finish was called has gone on, and returns nil then. What waits when
// ctx is done is dropped.
func (j *Joiner[P]) Start(ctx context.Context) error {
	added, stop := j.facts.Listen()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()

	var state join.State[P]
	var ready []join.Attributed[P] // decided, and not yet taken
	step := func(e join.Event[P]) {
		var out []join.Attributed[P]
		state, out = join.Step(state, e)
		ready = append(ready, out...)
	}
	finished, ending := j.finished, false
	for !ending || state.Waiting() > 0 || len(ready) > 0 {
		in, out, next := j.in, j.out, join.Attributed[P]{}
		if state.Waiting() >= maxWaiting || len(ready) > 0 {
			in = nil
		}
		if len(ready) > 0 {
			next = ready[0]
		} else {
			out = nil
		}
		if at, ok := state.NextAt(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-finished:
			finished, ending = nil, true
		case out <- next:
			ready[0] = join.Attributed[P]{}
			ready = ready[1:]
		case o := <-in:
			step(j.observe(o))
		case <-added:
			for _, key := range state.Awaited() {
				if f, ok := j.facts.Lookup(key); ok {
					step(join.Proven[P]{Key: key, Fact: f})
				}
			}
		case <-timer.C:
			step(join.Tick[P]{Now: time.Now().UTC()})
		}
	}
	return nil
}

// observe looks up what is known about a change at the moment it is taken.
func (j *Joiner[P]) observe(o observed[P]) join.Event[P] {
	e := join.Observed[P]{Key: o.key, Payload: o.payload, Now: time.Now().UTC()}
	if o.nameless {
		return e
	}
	if f, ok := j.facts.Lookup(o.key); ok {
		e.Fact = &f
	} else if j.facts.Expected() {
		e.Grace = Grace
	}
	return e
}
