package trust

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestNoCallFailsWhateverHappensToTheSecret lets two replicas, which look when they like, and an API server that is up to
// five seconds behind meet every order of what may happen to the Secret. A call fails when a replica serves what the API
// server does not trust.
func TestNoCallFailsWhateverHappensToTheSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &stage{t: t, now: begin, replicas: make([]replica, 2)}
		for range s.replicas {
			s.look(0)
			s.look(1)
		}
		s.pass(Settle) // what was true at the start is known
		t.Repeat(map[string]func(*rapid.T){
			"the Secret is replaced": func(*rapid.T) { s.secret = s.make() },
			"the Secret is deleted":  func(*rapid.T) { s.secret = "" },
			"a replica looks":        func(t *rapid.T) { s.look(rapid.IntRange(0, 1).Draw(t, "replica")) },
			"time goes by": func(t *rapid.T) {
				s.pass(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
			},
			"": func(*rapid.T) { s.call() },
		})
	})
}

// lag is how far the API server may be behind what the configuration says.
const lag = 5 * time.Second

type replica struct {
	memory  Memory
	serving *Leaf
	due     time.Time // when it looks again at the latest
}

type stage struct {
	t        *rapid.T
	now      time.Time
	made     int
	secret   Mark // "": none
	bundle   []Mark
	written  []writtenBundle // all there ever was, oldest first
	replicas []replica
}

type writtenBundle struct {
	at    time.Time
	marks []Mark
}

func (s *stage) make() Mark {
	s.made++
	return Mark(fmt.Sprintf("authority-%03d", s.made))
}

func (s *stage) authority(m Mark) Authority {
	return Authority{Mark: m, NotBefore: begin, NotAfter: begin.Add(AuthorityLasts)}
}

// look is one pass of a replica, and the one that follows when it has signed.
func (s *stage) look(i int) {
	r := &s.replicas[i]
	for {
		seen := Seen{Now: s.now, Hosts: hosts, Exact: true, Bundles: [][]Authority{{}}, Serving: r.serving}
		for _, m := range s.bundle {
			seen.Bundles[0] = append(seen.Bundles[0], s.authority(m))
		}
		if s.secret != "" {
			a := s.authority(s.secret)
			seen.Kept = &a
		}
		var p Plan
		r.memory, p = Step(r.memory, seen)
		if p.Sign {
			r.serving = &Leaf{By: s.secret, Hosts: hosts, NotAfter: s.now.Add(LeafLasts)}
		}
		if p.Write && len(p.Bundle) > 0 {
			s.bundle = p.Bundle
			s.written = append(s.written, writtenBundle{s.now, p.Bundle})
		}
		if p.Make {
			s.secret = s.make()
		}
		r.due = s.now.Add(p.Recheck)
		if !p.Sign {
			return
		}
	}
}

// pass lets time go by second by second; a change is seen within two, and whoever meant to look again does.
func (s *stage) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		for i := range s.replicas {
			if s.now.Second()%2 == i || !s.now.Before(s.replicas[i].due) {
				s.look(i)
			}
		}
		s.call()
	}
}

// call lets an API server that may have read any bundle of the last lag call every replica that serves.
func (s *stage) call() {
	views := map[int]bool{}
	for i, w := range s.written {
		superseded := i+1 < len(s.written) && s.now.Sub(s.written[i+1].at) > lag
		if !superseded && !w.at.After(s.now) {
			views[i] = true
		}
	}
	for i, r := range s.replicas {
		if r.serving == nil || s.now.Sub(begin) < Settle {
			continue
		}
		for _, v := range slices.Sorted(maps.Keys(views)) {
			if !slices.Contains(s.written[v].marks, r.serving.By) {
				s.t.Fatalf("%s: replica %d serves by %s, and an API server trusts %v", s.now.Sub(begin), i, r.serving.By, s.written[v].marks)
			}
		}
	}
}
