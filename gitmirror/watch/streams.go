package watch

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/client-go/dynamic"
)

// ErrClosed is what Next returns once the subscription is closed or the streams have ended.
var ErrClosed = errors.New("the watch subscription is closed")

// ahead is how many events a subscriber may lag behind before it stops its stream.
const ahead = 64

// Streams are the running streams of one cluster. Safe for concurrent use.
type Streams struct {
	ctx     context.Context
	client  dynamic.Interface
	changed func(Scope)
	wg      sync.WaitGroup

	mu      sync.Mutex
	running map[Scope]*running
}

type running struct {
	stream *stream
	cancel context.CancelFunc
}

// NewStreams returns the streams of the cluster the client reaches; they end with ctx. changed is called when the Status
// of a stream has changed; it must return soon and may be nil.
func NewStreams(ctx context.Context, client dynamic.Interface, changed func(Scope)) *Streams {
	if changed == nil {
		changed = func(Scope) {}
	}
	return &Streams{ctx: ctx, client: client, changed: changed, running: map[Scope]*running{}}
}

// Subscription hands on the events of one stream, in order: first an Initial one for each object there is. It belongs to
// one goroutine, apart from Status and Close.
type Subscription struct {
	streams *Streams
	stream  *stream
	backlog []Event
	events  chan Event
	closed  chan struct{}
	once    sync.Once
}

// Subscribe joins the stream of a scope, and starts it when it does not run. Close ends the subscription.
func (s *Streams) Subscribe(scope Scope) *Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.running[scope]
	if r == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		r = &running{stream: newStream(ctx, scope, s.changed), cancel: cancel}
		s.running[scope] = r
		s.wg.Go(func() { r.stream.run(s.client) })
	}
	sub := &Subscription{streams: s, stream: r.stream, events: make(chan Event, ahead), closed: make(chan struct{})}
	r.stream.mu.Lock()
	defer r.stream.mu.Unlock()
	sub.backlog = r.stream.states.snapshot()
	r.stream.subs = append(r.stream.subs, sub)
	return sub
}

// Wait returns when every stream has ended, after the context of NewStreams is done or all subscriptions are closed.
func (s *Streams) Wait() { s.wg.Wait() }

// Next returns the next event. It waits for one until ctx is done, whose error it returns then, or until the
// subscription is closed or its streams have ended, with ErrClosed. What a stream handed on before it ended still comes.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	select {
	case <-s.closed:
		return Event{}, ErrClosed
	default:
	}
	if len(s.backlog) > 0 {
		e := s.backlog[0]
		s.backlog[0] = Event{}
		s.backlog = s.backlog[1:]
		return e, nil
	}
	select {
	case e := <-s.events:
		return e, nil
	case <-s.closed:
		return Event{}, ErrClosed
	case <-s.stream.ctx.Done():
		select {
		case e := <-s.events:
			return e, nil
		default:
			return Event{}, ErrClosed
		}
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
}

// Status returns how the stream is at this moment.
func (s *Subscription) Status() Status { return s.stream.status() }

// Close ends the subscription, and the stream when it was the last one. It does not wait, and may be called again.
func (s *Subscription) Close() {
	s.once.Do(func() {
		close(s.closed)
		s.streams.mu.Lock()
		defer s.streams.mu.Unlock()
		s.stream.mu.Lock()
		defer s.stream.mu.Unlock()
		s.stream.subs = slices.DeleteFunc(s.stream.subs, func(other *Subscription) bool { return other == s })
		if len(s.stream.subs) == 0 {
			s.streams.running[s.stream.scope].cancel()
			delete(s.streams.running, s.stream.scope)
		}
	})
}
