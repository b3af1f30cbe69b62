package window

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
)

// Limits say how long a commit window may stay open. Zero or less in either closes it at once.
type Limits struct {
	// Idle is how long no edit may come.
	Idle time.Duration
	// Max is how long it may be open in all.
	Max time.Duration
}

// Window is a commit window: the edits of one author to one target, in the order they came.
type Window[P any] struct {
	Target types.NamespacedName
	Author author.Author
	// Edits is never empty.
	Edits []P
	// Opened and Last are when the first and the newest edit arrived.
	Opened, Last time.Time
	// Made is the newest instant at which one of the edits was made.
	Made time.Time

	limits Limits // of the newest edit
}

// closesAt returns the instant from which the window is over.
func (w Window[P]) closesAt() time.Time {
	idle, all := w.Last.Add(max(w.limits.Idle, 0)), w.Opened.Add(max(w.limits.Max, 0))
	if all.Before(idle) {
		return all
	}
	return idle
}

// State is every open commit window. The zero State has none. Step consumes it.
type State[P any] struct {
	open   []Window[P] // in the order they opened, one a target
	closed uint64
}

// Event is what Step folds into a State: Edit, Tick, Close or CloseAll.
type Event[P any] interface{ event(P) }

// Edit is one edit that belongs into a commit window.
type Edit[P any] struct {
	Now     time.Time // when it arrived
	Made    time.Time // when it was made
	Target  types.NamespacedName
	Author  author.Author
	Limits  Limits // of the target, now
	Payload P
}

// Tick says what time it is.
type Tick[P any] struct{ Now time.Time }

// Close ends the open commit window of a target, if it has one.
type Close[P any] struct {
	Now    time.Time
	Target types.NamespacedName
}

// CloseAll ends every open commit window.
type CloseAll[P any] struct{ Now time.Time }

func (Edit[P]) event(P)     {}
func (Tick[P]) event(P)     {}
func (Close[P]) event(P)    {}
func (CloseAll[P]) event(P) {}

// Closed is the effect of Step: this window is over and becomes a commit.
type Closed[P any] struct {
	// Sequence counts closed windows of all targets from 1, without gaps.
	Sequence uint64
	Window   Window[P]
}

// Step folds one event into s and returns the windows that closed, in the order they closed. Windows whose time had come
// before the event close first, the earliest deadline first.
func Step[P any](s State[P], e Event[P]) (State[P], []Closed[P]) {
	switch e := e.(type) {
	case Tick[P]:
		return s.expire(e.Now)
	case Close[P]:
		s, out := s.expire(e.Now)
		s, more := s.close(func(w Window[P]) bool { return w.Target == e.Target })
		return s, append(out, more...)
	case CloseAll[P]:
		s, out := s.expire(e.Now)
		s, more := s.close(func(Window[P]) bool { return true })
		return s, append(out, more...)
	case Edit[P]:
		s, out := s.expire(e.Now)
		s, more := s.close(func(w Window[P]) bool { return w.Target == e.Target && w.Author != e.Author })
		s = s.take(e)
		s, last := s.expire(e.Now)
		return s, slices.Concat(out, more, last)
	}
	return s, nil
}

// NextAt returns when the next window closes by itself; false when none is open.
func (s State[P]) NextAt() (time.Time, bool) {
	var next time.Time
	for _, w := range s.open {
		if at := w.closesAt(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, len(s.open) > 0
}

// Open returns how many commit windows are open.
func (s State[P]) Open() int { return len(s.open) }

// take puts an edit into its target's window, which is its author's or opens now.
func (s State[P]) take(e Edit[P]) State[P] {
	i := slices.IndexFunc(s.open, func(w Window[P]) bool { return w.Target == e.Target })
	if i < 0 {
		i = len(s.open)
		s.open = append(s.open, Window[P]{Target: e.Target, Author: e.Author, Opened: e.Now})
	}
	w := &s.open[i]
	w.Edits = append(w.Edits, e.Payload)
	w.limits = e.Limits
	w.Last = later(w.Last, e.Now)
	w.Made = later(w.Made, e.Made)
	return s
}

// expire closes every window whose time has come, the earliest deadline first.
func (s State[P]) expire(now time.Time) (State[P], []Closed[P]) {
	return s.close(func(w Window[P]) bool { return !w.closesAt().After(now) })
}

// close closes the windows that over names, the earliest deadline first, in order of opening among equals.
func (s State[P]) close(over func(Window[P]) bool) (State[P], []Closed[P]) {
	var done []Window[P]
	s.open = slices.DeleteFunc(s.open, func(w Window[P]) bool {
		if over(w) {
			done = append(done, w)
			return true
		}
		return false
	})
	slices.SortStableFunc(done, func(a, b Window[P]) int { return a.closesAt().Compare(b.closesAt()) })
	out := make([]Closed[P], 0, len(done))
	for _, w := range done {
		s.closed++
		out = append(out, Closed[P]{Sequence: s.closed, Window: w})
	}
	return s, out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
