package join

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

// State holds the changes that wait. The zero State holds none. A State given to Step is spent; use the one it returns.
type State[P any] struct {
	// line has every waiting change in the order observed; deadlines never fall along it. It may still hold some that have gone on.
	line []*waiting[P]

	// objects has the waiting changes of each object, oldest first.
	objects map[types.UID][]*waiting[P]

	count int
}

// waiting is a change in the line.
type waiting[P any] struct {
	key      fact.Key
	payload  P
	fact     *fact.Fact
	deadline time.Time
	gone     bool
}

// Event is one of Observed, Proven and Tick.
type Event[P any] interface{ event(P) }

// Observed is a change the watch brought.
type Observed[P any] struct {
	Key     fact.Key
	Payload P

	// Fact is the one about Key, where it is known already; nil: not yet.
	Fact *fact.Fact

	// Now is when it was observed, UTC; Grace is how long it may wait for its fact, zero: not at all.
	Now   time.Time
	Grace time.Duration
}

// Proven is a fact that arrived after the change it is about.
type Proven[P any] struct {
	Key  fact.Key
	Fact fact.Fact
}

// Tick says what time it is, UTC.
type Tick[P any] struct {
	Now time.Time
}

func (Observed[P]) event(P) {}
func (Proven[P]) event(P)   {}
func (Tick[P]) event(P)     {}

// Attributed is a change that goes on. Fact is nil when nobody is proven to have made it.
type Attributed[P any] struct {
	Payload P
	Fact    *fact.Fact
}

// Step folds one event into the state and returns the changes that go on because of it, in order. Each observed change
// goes on exactly once.
func Step[P any](s State[P], e Event[P]) (State[P], []Attributed[P]) {
	var out []Attributed[P]
	switch e := e.(type) {
	case Observed[P]:
		out = s.observe(e)
	case Proven[P]:
		out = s.prove(e)
	case Tick[P]:
		out = s.tick(e.Now)
	}
	s.trim()
	return s, out
}

// Waiting returns how many changes have not gone on.
func (s State[P]) Waiting() int { return s.count }

// Awaited returns the keys of the waiting changes whose fact has not arrived, in the order observed.
func (s State[P]) Awaited() []fact.Key {
	keys := make([]fact.Key, 0, s.count)
	for _, w := range s.line {
		if !w.gone && w.fact == nil {
			keys = append(keys, w.key)
		}
	}
	return keys
}

// NextAt returns when the next change goes on without a fact, and false when none waits.
func (s State[P]) NextAt() (time.Time, bool) {
	if len(s.line) == 0 {
		return time.Time{}, false
	}
	return s.line[0].deadline, true
}

func (s *State[P]) observe(e Observed[P]) []Attributed[P] {
	w := &waiting[P]{key: e.Key, payload: e.Payload, fact: e.Fact, deadline: e.Now.Add(e.Grace)}
	if n := len(s.line); n > 0 && s.line[n-1].deadline.After(w.deadline) {
		w.deadline = s.line[n-1].deadline
	}
	if s.objects == nil {
		s.objects = map[types.UID][]*waiting[P]{}
	}
	s.line = append(s.line, w)
	s.objects[e.Key.UID] = append(s.objects[e.Key.UID], w)
	s.count++
	return s.release(e.Key.UID, e.Now)
}

func (s *State[P]) prove(e Proven[P]) []Attributed[P] {
	for _, w := range s.objects[e.Key.UID] {
		if w.key == e.Key && w.fact == nil {
			f := e.Fact
			w.fact = &f
		}
	}
	return s.release(e.Key.UID, time.Time{})
}

func (s *State[P]) tick(now time.Time) []Attributed[P] {
	var out []Attributed[P]
	for i := 0; i < len(s.line) && !s.line[i].deadline.After(now); i++ {
		if !s.line[i].gone {
			out = append(out, s.release(s.line[i].key.UID, now)...)
		}
	}
	return out
}

// release lets the first changes of an object go on for as long as each has its fact or has waited long enough.
func (s *State[P]) release(uid types.UID, now time.Time) []Attributed[P] {
	var out []Attributed[P]
	queue := s.objects[uid]
	for len(queue) > 0 && (queue[0].fact != nil || !queue[0].deadline.After(now)) {
		out = append(out, Attributed[P]{Payload: queue[0].payload, Fact: queue[0].fact})
		*queue[0] = waiting[P]{key: queue[0].key, deadline: queue[0].deadline, gone: true}
		queue[0] = nil
		queue = queue[1:]
		s.count--
	}
	if len(queue) == 0 {
		delete(s.objects, uid)
	} else {
		s.objects[uid] = queue
	}
	return out
}

// trim drops what has gone on from the front of the line.
func (s *State[P]) trim() {
	n := 0
	for n < len(s.line) && s.line[n].gone {
		s.line[n] = nil
		n++
	}
	s.line = s.line[n:]
	if len(s.line) == 0 {
		s.line = nil
	}
}
