// Package turn runs work that gives way between its effects, one piece at a time and never two at once, so that a scheduler
// decides every interleaving and can repeat it.
//
// Work is written as straight code that calls Pause where others may come between. It runs on a coroutine of its own, which
// is only ever run by Go or ended by Kill; nothing in it needs a lock.
package turn

import (
	"iter"
	"time"
)

// Pause gives way before an effect that what names. When says when the work can go on.
type Pause func(what string, when When)

// When is what paused work waits for. The zero value waits for nothing.
type When struct {
	Until time.Time   // not before; zero: no matter
	Or    func() bool // or as soon as this is true; nil: only Until counts
}

// At returns a When that waits until the time.
func At(t time.Time) When { return When{Until: t} }

// Task is work that has begun and may have ended.
type Task struct {
	next   func() (pause, bool)
	stop   func()
	paused pause
	ended  bool
}

type pause struct {
	what string
	when When
}

// killed is what a pause panics with when the work is not to go on.
type killed struct{}

// Begin returns work that has not run yet.
func Begin(what string, work func(Pause)) *Task {
	t := &Task{paused: pause{what: what}}
	t.next, t.stop = iter.Pull(func(yield func(pause) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
			}
		}()
		work(func(what string, when When) {
			if !yield(pause{what, when}) {
				panic(killed{})
			}
		})
	})
	return t
}

// Go runs the work to its next pause, or to its end.
func (t *Task) Go() {
	p, more := t.next()
	t.paused, t.ended = p, !more
}

// Kill ends the work where it is paused. What it has done stays done.
func (t *Task) Kill() {
	t.stop()
	t.ended = true
}

// Ended says that nothing is left to run.
func (t *Task) Ended() bool { return t.ended }

// Next names the effect the work is paused before.
func (t *Task) Next() string { return t.paused.what }

// ReadyAt says that the work waits for nothing any more.
func (t *Task) ReadyAt(now time.Time) bool {
	w := t.paused.when
	return !w.Until.After(now) || w.Or != nil && w.Or()
}

// Until returns when the work goes on by itself; zero when no time will do that.
func (t *Task) Until() time.Time { return t.paused.when.Until }
