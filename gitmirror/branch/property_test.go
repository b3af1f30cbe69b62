package branch

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// FuzzStep: whatever the remote does and whenever, every edit arrives once, by its author, in the order of its object.
func FuzzStep(f *testing.F) { f.Fuzz(rapid.MakeFuzz(everyEditArrivesOnce)) }

func TestEveryEditArrivesOnceAndInOrder(t *testing.T) { rapid.Check(t, everyEditArrivesOnce) }

// modelCommit is a commit of the model's history.
type modelCommit struct {
	hash, parent string
	write        Write // its ID is "" for somebody else's
}

// model is a remote branch, a worker's state, and what is under way between them.
type model struct {
	t      *rapid.T
	state  State
	now    time.Time
	remote []modelCommit // the branch, oldest first
	local  map[string]modelCommit
	effect Effect
	late   []Push // pushes the server may still act on, although their answer was lost
	n      int
	calm   bool // nothing fails any more
}

func (m *model) tip() string {
	if len(m.remote) == 0 {
		return ""
	}
	return m.remote[len(m.remote)-1].hash
}

// land is the server acting on a push: a compare-and-swap. It says whether the branch moved.
func (m *model) land(p Push) bool {
	if m.tip() != p.Old {
		return false
	}
	for _, hash := range p.Commits {
		c := m.local[hash]
		if c.parent != m.tip() {
			m.t.Fatalf("commit %s is on %q and pushed onto %q", hash, c.parent, m.tip())
		}
		m.remote = append(m.remote, c)
	}
	return true
}

func (m *model) foreign() {
	m.n++
	m.remote = append(m.remote, modelCommit{hash: fmt.Sprint("f", m.n), parent: m.tip()})
}

func (m *model) step(e Event) {
	switch e.(type) {
	case Synced, Committed, Pushed:
		m.effect = nil
	}
	var effects []Effect
	m.state, effects = Step(m.state, e)
	if len(effects) > 1 || len(effects) == 1 && m.effect != nil {
		m.t.Fatalf("%v although %v is under way", effects, m.effect)
	}
	if len(effects) == 1 {
		m.effect = effects[0]
	}
	if at, ok := m.state.NextAt(); ok && m.effect == nil && !at.After(m.now) {
		m.t.Fatalf("it is %v, nothing is under way, and something was due at %v", m.now, at)
	}
}

// chance is true now and then, never when calm.
func (m *model) chance(label string) bool {
	return !m.calm && rapid.IntRange(0, 3).Draw(m.t, label) == 0
}

// answer performs the effect under way.
func (m *model) answer() {
	switch e := m.effect.(type) {
	case Sync:
		if m.chance("sync fails") {
			m.step(Synced{Now: m.now, Err: errors.New("unreachable")})
			return
		}
		landed := map[string]string{}
		for _, c := range m.above(e.Since) {
			for _, d := range e.Doubts {
				if c.hash == d.Commit || c.write.ID == d.Write {
					landed[d.Write] = c.hash
				}
			}
		}
		m.step(Synced{Now: m.now, Tip: m.tip(), Landed: landed})
	case Commit:
		m.plan(e)
	case Push:
		m.push(e)
	}
}

// above returns the history above a commit; all of it when the commit is not in it.
func (m *model) above(hash string) []modelCommit {
	return m.remote[slices.IndexFunc(m.remote, func(c modelCommit) bool { return c.hash == hash })+1:]
}

func (m *model) plan(e Commit) {
	if m.chance("store fails") {
		m.step(Committed{Now: m.now, Err: errors.New("disk full")})
		return
	}
	out := Committed{Now: m.now}
	base, stuck := e.Base, map[string]bool{}
	for _, w := range e.Writes {
		if stuck[w.Target.Name] {
			continue
		}
		if m.chance("folder fails") {
			stuck[w.Target.Name] = true
			out.Done = append(out.Done, Done{Write: w.ID, Err: errors.New("kustomize")})
			continue
		}
		m.n++
		c := modelCommit{hash: fmt.Sprint("c", m.n), parent: base, write: w}
		m.local[c.hash], base = c, c.hash
		out.Done = append(out.Done, Done{Write: w.ID, Commit: c.hash})
	}
	m.step(out)
}

func (m *model) push(e Push) {
	lost := errors.New("no answer")
	fate := 0
	if !m.calm {
		fate = rapid.IntRange(0, 6).Draw(m.t, "push")
	}
	switch fate {
	case 1: // rejected
		m.step(Pushed{Now: m.now, Err: errors.New("rejected")})
		return
	case 2: // lost on the way
		m.step(Pushed{Now: m.now, Err: lost})
		return
	case 3: // arrived, and the answer was lost
		m.land(e)
		m.step(Pushed{Now: m.now, Err: lost})
		return
	case 4: // will be acted on some time
		m.late = append(m.late, e)
		m.step(Pushed{Now: m.now, Err: lost})
		return
	case 5: // somebody was first
		m.foreign()
	}
	m.land(e)
	if fate == 6 { // somebody was right behind
		m.foreign()
	}
	if m.tip() == e.Commits[len(e.Commits)-1] {
		m.step(Pushed{Now: m.now})
		return
	}
	m.step(Pushed{Now: m.now, Moved: true, Err: errors.New("moved")})
}

func everyEditArrivesOnce(t *rapid.T) {
	m := &model{t: t, state: NewState(Config{Prefix: "w", Poll: 10 * time.Second}), now: dawn, local: map[string]modelCommit{}}
	if rapid.Bool().Draw(t, "not empty") {
		m.foreign()
	}
	targets := []string{"apps", "infra"}
	for _, target := range targets {
		idle := time.Duration(rapid.IntRange(0, 3).Draw(t, "idle")) * time.Second
		m.step(TargetSet{Now: m.now, Target: name(target), Settings: TargetSettings{Folder: target, Idle: idle, Max: 2 * idle}})
	}
	type sent struct{ object, by, value string }
	var edits []sent
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "what") {
		case 0, 1:
			target := rapid.SampledFrom(targets).Draw(t, "target")
			e := sent{
				object: target + "/" + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "object"),
				by:     rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "author"),
				value:  fmt.Sprint(len(edits)),
			}
			edits = append(edits, e)
			in := manifest.Intent{Object: manifest.Identity{Name: e.object}, Resource: e.value}
			m.step(Edited{Now: m.now, Bytes: 7, Edit: Edit{Target: name(target), Author: author.Of(e.by), Intent: in, At: m.now}})
		case 2:
			m.now = m.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "ms")) * time.Millisecond)
			m.step(Ticked{Now: m.now})
		case 3:
			if len(m.late) > 0 {
				m.land(m.late[0])
				m.late = m.late[1:]
			} else {
				m.foreign()
			}
		case 4: // to another address of the same repository
			m.step(Repointed{Now: m.now})
		default:
			m.answer()
		}
	}
	m.calm = true
	m.step(Stopped{Now: m.now})
	for range 200 {
		if len(m.late) > 0 {
			m.land(m.late[0])
			m.late = m.late[1:]
		}
		m.answer()
		m.now = m.now.Add(time.Minute)
		m.step(Ticked{Now: m.now})
	}
	if !m.state.Drained() || m.state.Bytes() != 0 || m.state.Snapshot().Busy {
		t.Fatalf("not drained: %d writes, %d bytes", len(m.state.writes), m.state.Bytes())
	}
	var arrived []sent
	for _, c := range m.remote {
		for _, in := range c.write.Intents {
			arrived = append(arrived, sent{object: in.Object.Name, by: c.write.Author.Name, value: in.Resource})
		}
	}
	of := func(all []sent, object string) []sent {
		return slices.DeleteFunc(slices.Clone(all), func(s sent) bool { return s.object != object })
	}
	for _, object := range []string{"apps/a", "apps/b", "infra/a", "infra/b"} {
		if want, got := of(edits, object), of(arrived, object); !slices.Equal(want, got) {
			t.Fatalf("%s: sent %v, arrived %v", object, want, got)
		}
	}
}
