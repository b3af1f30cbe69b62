package branch

import (
	"context"
	"fmt"
	"time"
)

// Run works until ctx ends. It then closes every commit window and goes on for at most Options.Drain to push what there
// is; the error says how many writes were left.
func (w *Worker) Run(ctx context.Context) error {
	state := NewState(Config{Prefix: w.opts.Prefix, Poll: w.opts.Poll})
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answers := make(chan Event, 1)
	running := false
	defer func() {
		cancel()
		if running {
			<-answers
		}
	}()
	step := func(e Event) {
		if set, ok := e.(repositorySet); ok {
			w.perform, e = w.performOn(set.repo), set.Repointed // what runs stays where it was started
		}
		var effects []Effect
		state, effects = Step(state, e)
		for _, effect := range effects {
			running = true
			perform := w.perform
			go func() { answers <- perform(work, effect) }()
		}
	}

	ended := ctx.Done()
	var drained <-chan time.Time
	step(Ticked{Now: w.now()})
	for {
		for _, e := range w.take() {
			step(e)
		}
		w.publish(state)
		if ended == nil && state.Drained() {
			break
		}
		select {
		case <-ended:
			w.stop()
			ended = nil
			drained = w.opts.Clock.After(w.opts.Drain)
			for _, e := range w.take() {
				step(e)
			}
			step(Stopped{Now: w.now()})
		case <-drained:
			return w.left(state)
		case <-w.wake:
		case e := <-answers:
			running = false
			step(e)
		case <-w.alarm(state):
			step(Ticked{Now: w.now()})
		}
	}
	return w.left(state)
}

// alarm fires when the state has something to do by itself; nil never does.
func (w *Worker) alarm(s State) <-chan time.Time {
	at, ok := s.NextAt()
	if !ok {
		return nil
	}
	wait := at.Sub(w.now())
	if wait <= 0 {
		due := make(chan time.Time, 1)
		due <- at
		return due
	}
	return w.opts.Clock.After(wait)
}

// left says what a worker that ends leaves behind.
func (w *Worker) left(s State) error {
	if n := len(s.writes); n > 0 {
		return fmt.Errorf("branch %s: stopped with %d commits not pushed", w.opts.Branch, n)
	}
	return nil
}
