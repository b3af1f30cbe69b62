package branch

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/window"
)

const (
	firstBackoff = time.Second
	maxBackoff   = time.Minute
	// folderRetry is when a folder that could not be written is tried again although the tip did not move.
	folderRetry = time.Minute
	// patience is how many pushes in a row may find the branch moved before that counts as a failure.
	patience = 3
	// maxBatch bounds the writes of one push.
	maxBatch = 50
	// maxRefused bounds the refusals kept for a target: as many as one command may well cause at once.
	maxRefused = 1000
)

// ErrBranchGone says that the branch had commits and has none now. Nothing is pushed until it is back: a new history with
// only our files would read as if everything else had been deleted.
var ErrBranchGone = errors.New("the branch is gone from the repository; put it back to what it was")

// errKeepsMoving says that others push faster than we do.
var errKeepsMoving = errors.New("others push faster than this; trying again more slowly")

// Step folds one event into s and returns what to do next, if anything. It consumes s.
func Step(s State, e Event) (State, []Effect) {
	var now time.Time
	e = s.owned(e)
	switch e := e.(type) {
	case Edited:
		now = e.Now
		s = s.edited(e)
	case Ticked:
		now = e.Now
		s = s.decide(window.Tick[held]{Now: now})
	case TargetSet:
		now = e.Now
		s = s.targetSet(e)
	case TargetRemoved:
		now = e.Now
		s = s.targetRemoved(e)
	case Repointed:
		now = e.Now
		s = s.repointed()
	case Stopped:
		now = e.Now
		s.stopping = true
		s = s.decide(window.CloseAll[held]{Now: now})
	case Synced:
		now = e.Now
		s = s.synced(e)
	case Committed:
		now = e.Now
		if s = s.committed(e); len(s.sent) > 0 {
			s.doing = pushing
			return s, []Effect{Push{Old: s.tip, Commits: s.sent}}
		}
	case Pushed:
		now = e.Now
		s = s.pushed(e)
	}
	return s.next(now)
}

// next returns the effect that is due, if none is running: first learn the tip, then write on it.
func (s State) next(now time.Time) (State, []Effect) {
	s = s.forgetRemoved()
	if s.doing != idle || s.failures > 0 && now.Before(s.retryAt) {
		return s, nil
	}
	batch := s.batch(now)
	if s.syncDue || !s.tipKnown && (len(batch) > 0 || !s.stopping) || !s.stopping && !now.Before(s.nextPoll) {
		s.doing, s.syncDue = syncing, false
		return s, []Effect{s.sync()}
	}
	if len(batch) > 0 {
		s.doing = committing
		return s, []Effect{Commit{Base: s.tip, Writes: batch}}
	}
	return s, nil
}

// sync asks for the tip and for every write that may have arrived, however often it was planned since.
func (s State) sync() Sync {
	out := Sync{Since: s.doubtBase}
	for _, w := range s.writes {
		if w.asked {
			out.Doubts = append(out.Doubts, Doubt{Write: w.ID, Commit: w.commit})
		}
	}
	return out
}

// batch returns the writes to plan now, in order. All writes of a target that cannot be planned wait, so that the order
// within a target stays.
func (s State) batch(now time.Time) []Write {
	var out []Write
	for _, w := range s.writes {
		if t := s.targets[w.Target]; t.err != nil && now.Before(t.retryAt) {
			continue
		}
		write := w.Write
		write.Committer = s.targets[w.Target].settings.Committer
		if out = append(out, write); len(out) == maxBatch {
			break
		}
	}
	return out
}

func (s State) edited(e Edited) State {
	t, ok := s.targets[e.Edit.Target]
	if !ok {
		return s // the shell accepts no such edit
	}
	s.bytes += e.Bytes
	s.quietSince = later(s.quietSince, e.Now)
	return s.decide(window.Edit[held]{
		Now: e.Now, Made: e.Edit.At, Target: e.Edit.Target, Author: e.Edit.Author,
		Limits:  window.Limits{Idle: t.settings.Idle, Max: t.settings.Max},
		Payload: held{intent: e.Edit.Intent, impersonator: e.Edit.Impersonator, bytes: e.Bytes},
	})
}

// decide runs the commit windows and turns those that closed into writes.
func (s State) decide(e window.Event[held]) State {
	var closed []window.Closed[held]
	s.windows, closed = window.Step(s.windows, e)
	for _, c := range closed {
		s.named++
		w := &pending{Write: Write{
			ID:     fmt.Sprintf("%s-%d", s.config.Prefix, s.named),
			Target: c.Window.Target, Author: c.Window.Author, Made: c.Window.Made,
			Folder: s.targets[c.Window.Target].settings.Folder,
		}}
		for _, h := range c.Window.Edits {
			w.Intents = append(w.Intents, h.intent)
			if h.impersonator != "" && !slices.Contains(w.Impersonators, h.impersonator) {
				w.Impersonators = append(w.Impersonators, h.impersonator)
			}
			w.bytes += h.bytes
		}
		s.writes = append(s.writes, w)
	}
	return s
}

func (s State) targetSet(e TargetSet) State {
	t, ok := s.targets[e.Target]
	if !ok {
		t = &target{}
		s.targets[e.Target] = t
	}
	t.settings, t.removed = e.Settings, false
	return s.decide(window.Tick[held]{Now: e.Now})
}

func (s State) targetRemoved(e TargetRemoved) State {
	t, ok := s.targets[e.Target]
	if !ok {
		return s
	}
	t.removed = true
	return s.decide(window.Close[held]{Now: e.Now, Target: e.Target})
}

// forgetRemoved drops the removed targets that have no writes left. Writes of a removed target that cannot be planned
// have nobody left to make them possible, and go with it.
func (s State) forgetRemoved() State {
	for name, t := range s.targets {
		if !t.removed || s.doing != idle {
			continue
		}
		if t.err != nil {
			s = s.settle(func(w *pending) bool { return w.Target == name })
		}
		if !slices.ContainsFunc(s.writes, func(w *pending) bool { return w.Target == name }) {
			delete(s.targets, name)
		}
	}
	return s
}

// repointed forgets all that was known of the repository. The writes stay, and so do the doubts: a new address may lead
// to the same history.
func (s State) repointed() State {
	s.disowned = s.doing != idle
	s.tip, s.tipKnown, s.tipOurs, s.doubtBase, s.moves = "", false, false, "", 0
	s.err, s.errSince, s.failed, s.failures, s.retryAt = nil, time.Time{}, idle, 0, time.Time{}
	for _, t := range s.targets {
		t.retryAt = time.Time{}
	}
	return s
}

// owned returns the event, or a Ticked in its place when it answers an effect of before the branch was repointed.
func (s *State) owned(e Event) Event {
	if !s.disowned {
		return e
	}
	var now time.Time
	switch e := e.(type) {
	case Synced:
		now = e.Now
	case Committed:
		now = e.Now
	case Pushed:
		now = e.Now
	default:
		return e
	}
	s.disowned, s.doing = false, idle
	return Ticked{Now: now}
}

func (s State) synced(e Synced) State {
	s.doing = idle
	if e.Err == nil && s.tip != "" && e.Tip == "" {
		e.Err = ErrBranchGone
	}
	if e.Err != nil {
		return s.fail(e.Now, syncing, e.Err)
	}
	s.nextPoll = e.Now.Add(s.config.Poll)
	ours := false
	for id, commit := range e.Landed {
		ours = ours || commit == e.Tip
		s = s.landed(e.Now, id, commit)
	}
	if !s.tipKnown || e.Tip != s.tip {
		if s.tipKnown && !ours {
			s.foreign++
		}
		s.tip, s.tipKnown, s.tipOurs = e.Tip, true, ours
		s.quietSince = later(s.quietSince, e.Now)
		for _, t := range s.targets {
			t.retryAt = time.Time{} // what is in a folder that could not be written may have changed
		}
	}
	return s.recover(syncing)
}

// landed settles one write that the remote history shows.
func (s State) landed(now time.Time, id, commit string) State {
	s.moves = 0
	return s.settle(func(w *pending) bool {
		if w.ID != id {
			return false
		}
		t := s.targets[w.Target]
		t.pushed, t.err = commit, nil
		t.refuse(now, w)
		return true
	})
}

// committed records what became of each plan and which commits are to be sent. The writes they carry count as asked from
// here on: the record precedes the push.
func (s State) committed(e Committed) State {
	s.doing, s.sent = idle, nil
	if e.Err != nil {
		return s.fail(e.Now, committing, e.Err)
	}
	nothing := map[string]bool{}
	for _, d := range e.Done {
		i := slices.IndexFunc(s.writes, func(w *pending) bool { return w.ID == d.Write })
		w := s.writes[i]
		t := s.targets[w.Target]
		t.err = d.Err
		if d.Err != nil {
			t.retryAt = e.Now.Add(folderRetry)
			continue
		}
		w.refused = d.Refused
		if d.Commit == "" {
			t.refuse(e.Now, w)
			nothing[w.ID] = true
			continue
		}
		if !slices.ContainsFunc(s.writes, func(w *pending) bool { return w.asked }) {
			s.doubtBase = s.tip
		}
		w.commit, w.asked = d.Commit, true
		s.sent = append(s.sent, d.Commit)
	}
	s = s.settle(func(w *pending) bool { return nothing[w.ID] })
	return s.recover(committing)
}

func (s State) pushed(e Pushed) State {
	s.doing = idle
	switch {
	case e.Err == nil:
		s.quietSince = later(s.quietSince, e.Now)
		s.nextPoll = e.Now.Add(s.config.Poll)
		s.tip, s.tipOurs = s.sent[len(s.sent)-1], true
		for _, w := range slices.Clone(s.writes) {
			if slices.Contains(s.sent, w.commit) {
				s = s.landed(e.Now, w.ID, w.commit)
			}
		}
		return s.recover(pushing)
	case e.Moved:
		s.syncDue = true
		if s.moves++; s.moves > patience {
			return s.fail(e.Now, pushing, fmt.Errorf("%w: %w", errKeepsMoving, e.Err))
		}
		return s
	}
	return s.fail(e.Now, pushing, e.Err)
}

// settle drops the writes that done names: the remote shows them, or has no need of them.
func (s State) settle(done func(*pending) bool) State {
	asked := false
	s.writes = slices.DeleteFunc(s.writes, func(w *pending) bool {
		if done(w) {
			s.bytes -= w.bytes
			return true
		}
		asked = asked || w.asked
		return false
	})
	if !asked {
		s.doubtBase = ""
	}
	return s
}

// fail notes a failure and when to try again, beginning with a look at the remote.
func (s State) fail(now time.Time, at step, err error) State {
	if s.err == nil {
		s.errSince = now
	}
	s.err, s.failed, s.syncDue = err, at, true
	s.retryAt = now.Add(backoff(s.failures))
	s.failures++
	return s
}

// recover ends a failure that happened no later in the round trip than what has now succeeded. A fetch says nothing about
// a push that was rejected, unless nothing is left to push.
func (s State) recover(through step) State {
	if s.failed <= through || !s.plannable() {
		s.err, s.errSince, s.failed, s.failures, s.retryAt = nil, time.Time{}, idle, 0, time.Time{}
	}
	return s
}

// plannable says whether there is a write whose target can be planned, as far as is known.
func (s State) plannable() bool {
	return slices.ContainsFunc(s.writes, func(w *pending) bool { return s.targets[w.Target].err == nil })
}

// backoff returns the wait after so many earlier failures in a row.
func backoff(failures int) time.Duration {
	return min(firstBackoff<<min(failures, 10), maxBackoff)
}

// refuse adds the refusals of a settled write to those the target reports.
func (t *target) refuse(now time.Time, w *pending) {
	for _, r := range w.refused {
		t.refusals++
		t.refused = append(t.refused, Refused{Refusal: r, Sequence: t.refusals, Author: w.Author, At: now})
	}
	if extra := len(t.refused) - maxRefused; extra > 0 {
		t.refused = slices.Clone(t.refused[extra:]) // readers of snapshots have the old one
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
