package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/go-logr/logr"
)

// Controller is who every event says it is by.
const Controller = "holdfast-holder"

// Bounds of a sender whose Options say nothing else.
const (
	queueLength = 256
	timeout     = 5 * time.Second
	attempts    = 4
	backoff     = 500 * time.Millisecond // doubled after each attempt
)

// Options say where events go. Only Address is required.
type Options struct {
	// Address is the http or https URL of the endpoint. It must hold no user and no password: arguments of a process are no
	// secret.
	Address string

	// Instance is which of several holders speaks, such as its host name.
	Instance string

	// Log hears when events begin to be lost and when they are taken again.
	Log logr.Logger

	// Count is called once for every event, with what became of it. nil counts nothing.
	Count func(Outcome)

	// Queue is how many events may wait. 0: 256.
	Queue int

	// Timeout bounds one attempt. 0: 5 s.
	Timeout time.Duration

	// Attempts is how often an event is sent at most. 0: 4.
	Attempts int

	// Backoff is the wait after the first attempt, doubled after each further one. 0: 500 ms.
	Backoff time.Duration
}

// Sender posts events. A nil Sender posts none, and is safe to use.
type Sender struct {
	Options
	client *http.Client
	queue  chan eventv1.Event
	ctx    context.Context // ends when what still waits is let go
	abort  context.CancelFunc
	idle   chan struct{} // closed when the worker has ended

	mu      sync.Mutex
	closed  bool
	failing bool // the last event was lost
	lost    int  // since the run of failures began
}

// Open returns a sender whose worker runs until Close. An empty address returns a nil Sender: nothing is posted.
func Open(o Options) (*Sender, error) {
	if o.Address == "" {
		return nil, nil
	}
	if err := check(o.Address); err != nil {
		return nil, err
	}
	o.Queue = orDefault(o.Queue, queueLength)
	o.Timeout = orDefault(o.Timeout, timeout)
	o.Attempts = orDefault(o.Attempts, attempts)
	o.Backoff = orDefault(o.Backoff, backoff)
	if o.Count == nil {
		o.Count = func(Outcome) {}
	}
	ctx, abort := context.WithCancel(context.Background())
	s := &Sender{Options: o, client: newClient(o.Timeout), queue: make(chan eventv1.Event, o.Queue), ctx: ctx, abort: abort, idle: make(chan struct{})}
	go s.work()
	return s, nil
}

// check refuses an address nothing can be posted to. Its error does not repeat the address.
func check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("the events address is no URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the events address must be an http or https URL, such as http://notification-controller.flux-system.svc.cluster.local./")
	case u.User != nil:
		return errors.New("the events address must hold no user and no password")
	}
	return nil
}

// Post queues e, with who it is by, and returns at once.
func (s *Sender) Post(e eventv1.Event) {
	if s == nil {
		return
	}
	e.ReportingController, e.ReportingInstance = Controller, s.Instance
	s.mu.Lock()
	full := false
	closed := s.closed
	if !closed {
		select {
		case s.queue <- e:
		default:
			full = true
		}
	}
	s.mu.Unlock()
	switch {
	case closed:
		s.note(Stopped, nil)
	case full:
		s.note(QueueFull, fmt.Errorf("%d events wait already", s.Queue))
	}
}

// Close takes no more events, sends those that wait until ctx ends, and lets the rest go. It returns once nothing is sent
// any more. A second call does nothing.
func (s *Sender) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.queue)
	}
	s.mu.Unlock()
	defer s.abort()
	select {
	case <-s.idle:
	case <-ctx.Done():
		s.abort()
		<-s.idle
	}
}

// note counts what became of an event, and logs the first one that is lost and the first that is taken after that.
func (s *Sender) note(o Outcome, err error) {
	s.Count(o)
	s.mu.Lock()
	began, ended, lost := false, false, 0
	switch {
	case o.lost():
		began, s.failing = !s.failing, true
		s.lost++
	case s.failing:
		ended, lost = true, s.lost
		s.failing, s.lost = false, 0
	}
	s.mu.Unlock()
	switch {
	case began:
		s.Log.Error(err, "events are not delivered; more that follow are only counted", "outcome", o)
	case ended:
		s.Log.Info("events are delivered again", "lost", lost)
	}
}

// orDefault returns v, or d when v is zero.
func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}
