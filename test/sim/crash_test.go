package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// story is what happens in an orderly world, one thing after the other. Between them the stories have the holder do
// everything it can do.
type story struct {
	name  string
	gate  bool
	deeds []string
}

var stories = []story{
	{"applies, and applies a push", false, []string{"a request to apply", "a push, and a request"}},
	{"says that an apply failed", false, []string{"a push of something broken, and a request"}},
	{"applies what a person asks for", false, []string{"a push", "a person asks for the tip to be applied"}},
	{"freezes the source meanwhile", true, []string{"a push, and a request"}},
	{"takes back what somebody resumed", false, []string{"a request to apply", "flux resume"}},
	{"mends a hold that was taken apart", false, []string{"a request to apply", "kubectl annotate takes held-by away", "somebody wipes our finalizer off the Kustomization"}},
	{"hands back when the trigger is deleted", false, []string{"a request to apply", "the trigger is deleted"}},
	{"hands back when nobody names it", false, []string{"the GitTarget is deleted"}},
	{"lets Flux prune what is deleted", false, []string{"a request to apply", "the Kustomization is deleted"}},
	{"leaves what is deleted, when told to", false, []string{"the trigger is told to orphan", "the Kustomization is deleted"}},
	{"follows an apply past a kustomize-controller that is killed", false, []string{"a request to apply", "a push, and a request", "kustomize-controller is killed"}},
}

func (s story) plan(fates map[int]fate) plan {
	p := plan{seed: 1, quick: true, gate: s.gate, fates: fates}
	for _, d := range s.deeds {
		p.deeds = append(p.deeds, deedNamed(d))
	}
	return p
}

// point is the nth effect of a story, and what becomes of it.
type point struct {
	story story
	nth   int
	fate  fate
}

func (p point) plan() plan { return p.story.plan(map[int]fate{p.nth: p.fate}) }

// points returns every effect of every story with every point at which the holder can be killed around it.
func points(t *testing.T) []point {
	var all []point
	for _, s := range stories {
		w, err := run(s.plan(nil), newVisits(), false)
		if err != nil {
			w, err = run(s.plan(nil), newVisits(), true)
			t.Fatalf("%s\n%s, without any trouble: %v", strings.Join(w.told.lines, "\n"), s.name, err)
		}
		for n := 1; n <= w.effects; n++ {
			for _, f := range crashes {
				all = append(all, point{s, n, f})
			}
		}
	}
	return all
}

func TestEveryCrashPointOfEveryEffect(t *testing.T) {
	begin := time.Now()
	all := points(t)
	var mu sync.Mutex
	broken := map[string][]point{}
	next := make(chan point, len(all))
	for _, p := range all {
		next <- p
	}
	close(next)
	v := everywhere(0, time.Hour, func(_ uint64, v *Visits) bool {
		p, more := <-next
		if !more {
			return false
		}
		if _, err := run(p.plan(), v, false); err != nil {
			mu.Lock()
			defer mu.Unlock()
			broken[err.Error()] = append(broken[err.Error()], p)
		}
		return true
	})
	t.Logf("%d crash points of %d effects in %d stories: %d interleavings, %d steps, in %s", len(all), len(v.Effects), len(stories),
		len(v.Orders), v.Steps, time.Since(begin).Round(time.Second))
	for err, points := range broken {
		p := points[0]
		w, _ := run(p.plan(), newVisits(), true)
		t.Errorf("%s\n\nthe holder that %s, effect %d %s: %s (%d more break this)", strings.Join(w.told.lines, "\n"), p.story.name, p.nth, p.fate, err, len(points)-1)
	}
	for _, verb := range hold.Verbs() {
		if v.Verbs[verb] == 0 {
			t.Errorf("no story has the holder %s", verb)
		}
	}
	for _, what := range v.effects() {
		for _, f := range crashes {
			if v.Effects[what][f] == 0 {
				t.Errorf("no holder that %q ever %s", what, f)
			}
		}
		if testing.Verbose() {
			t.Logf("%-60s %s", what, fates(v.Effects[what]))
		}
	}
}

func fates(n map[fate]int) string {
	var s []string
	for f, n := range n {
		s = append(s, fmt.Sprintf("%s: %d", f, n))
	}
	slices.Sort(s)
	return strings.Join(s, "; ")
}
