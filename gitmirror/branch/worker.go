package branch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

var (
	// ErrUnknownTarget: an edit names a target that is not set, or was removed.
	ErrUnknownTarget = errors.New("no such target on this branch")
	// ErrStopped: the worker takes no more edits.
	ErrStopped = errors.New("the branch worker has stopped")
)

// Options say how a worker works. Repository, Planner and Branch are required.
type Options struct {
	Repository Repository
	Planner    Planner
	// Branch is the short name, such as main.
	Branch string
	// Poll is how often the remote tip is looked at when nothing else does. Default 10s.
	Poll time.Duration
	// MaxBytes bounds the edits kept; above it Submit waits. Default 64 MiB.
	MaxBytes int64
	// Drain bounds how long Run goes on pushing what it has after its context ended. Default 20s.
	Drain time.Duration
	// OnChange is called after Snapshot may have changed, from the worker's goroutine. It must not block. May be nil.
	OnChange func()
	// Clock is the real one by default.
	Clock clock.Clock
	// Prefix of write IDs, unique to this process. Random by default.
	Prefix string
}

// Worker owns one branch of one repository. Make it with New, then call Run once.
type Worker struct {
	opts    Options
	perform func(context.Context, Effect) Event

	wake chan struct{} // holds one token while the inbox has something

	mu       sync.Mutex
	inbox    []Event
	bytes    int64         // of edits in the inbox and in the state
	room     chan struct{} // closed and replaced when bytes shrinks
	known    map[types.NamespacedName]TargetSettings
	snapshot Snapshot
	stopped  bool
}

// New returns a worker that has not started.
func New(opts Options) *Worker {
	if opts.Poll <= 0 {
		opts.Poll = 10 * time.Second
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = 64 << 20
	}
	if opts.Drain <= 0 {
		opts.Drain = 20 * time.Second
	}
	if opts.OnChange == nil {
		opts.OnChange = func() {}
	}
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	if opts.Prefix == "" {
		opts.Prefix = rand.Text()
	}
	w := &Worker{
		opts: opts, wake: make(chan struct{}, 1), room: make(chan struct{}), known: map[types.NamespacedName]TargetSettings{},
		snapshot: Snapshot{Targets: map[types.NamespacedName]TargetState{}},
	}
	w.perform = w.performOn(opts.Repository)
	return w
}

// performOn returns what runs effects on a repository.
func (w *Worker) performOn(repo Repository) func(context.Context, Effect) Event {
	p := &performer{repo: repo, planner: w.opts.Planner, branch: w.opts.Branch, now: w.now}
	return p.perform
}

func (w *Worker) now() time.Time { return w.opts.Clock.Now().UTC() }

// Submit takes an edit. While the edits kept weigh too much it waits until some are pushed or ctx ends; an edit that was
// taken is never dropped, and from then on Snapshot says Busy until it is settled. ErrUnknownTarget and ErrStopped say that it was not taken.
func (w *Worker) Submit(ctx context.Context, e Edit) error {
	size := weight(e)
	for {
		w.mu.Lock()
		switch {
		case w.stopped:
			w.mu.Unlock()
			return ErrStopped
		case !w.knows(e.Target):
			w.mu.Unlock()
			return fmt.Errorf("%s: %w", e.Target, ErrUnknownTarget)
		case w.bytes == 0 || w.bytes+size <= w.opts.MaxBytes:
			w.bytes += size
			taken := Edited{Now: w.now(), Edit: e, Bytes: size}
			w.post(taken)
			w.snapshot = w.snapshot.with(taken)
			w.mu.Unlock()
			return nil
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return fmt.Errorf("wait for earlier edits to be pushed: %w", ctx.Err())
		}
	}
}

// knows says that the target is set. The caller holds the lock.
func (w *Worker) knows(name types.NamespacedName) bool {
	_, ok := w.known[name]
	return ok
}

// SetTarget makes a target write to this branch, or changes how. To set what is so already does nothing.
func (w *Worker) SetTarget(name types.NamespacedName, settings TargetSettings) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if is, ok := w.known[name]; ok && is == settings {
		return // or whoever sets what they find when they are told of a change would be told again, for ever
	}
	w.known[name] = settings
	w.post(TargetSet{Now: w.now(), Target: name, Settings: settings})
}

// SetRepository makes the worker write its branch in another repository. What is not known to have been pushed goes there.
func (w *Worker) SetRepository(repo Repository) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.post(repositorySet{Repointed{Now: w.now()}, repo})
}

// repositorySet is a Repointed on its way to the core, with where to.
type repositorySet struct {
	Repointed
	repo Repository
}

// RemoveTarget ends a target. Edits that were taken are pushed first, unless its folder cannot be written.
func (w *Worker) RemoveTarget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.knows(name) {
		delete(w.known, name)
		w.post(TargetRemoved{Now: w.now(), Target: name})
	}
}

// Snapshot returns what is known now.
func (w *Worker) Snapshot() Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.snapshot
}

// post puts an event into the inbox. The caller holds the lock.
func (w *Worker) post(e Event) {
	w.inbox = append(w.inbox, e)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take empties the inbox.
func (w *Worker) take() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.inbox
	w.inbox = nil
	return events
}

// publish makes the state visible, and room for waiting edits.
func (w *Worker) publish(s State) {
	w.mu.Lock()
	w.snapshot = s.Snapshot()
	kept := s.Bytes()
	for _, e := range w.inbox {
		if e, ok := e.(Edited); ok {
			kept += e.Bytes
			w.snapshot = w.snapshot.with(e)
		}
	}
	if kept < w.bytes {
		close(w.room)
		w.room = make(chan struct{})
	}
	w.bytes = kept
	w.mu.Unlock()
	w.opts.OnChange()
}

// stop refuses further edits and wakes those that wait.
func (w *Worker) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	close(w.room)
	w.room = make(chan struct{})
}
