package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	oneSeed = flag.Uint64("sim.seed", 0, "play this seed again, and print what happens")
	first   = flag.Uint64("sim.first", 1, "the first seed to try")
	budget  = flag.Duration("sim.budget", 40*time.Second, "how long to try seeds, one after the other on each core")
)

// planOf returns what the seed is about.
func planOf(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 1))
	p := plan{
		seed: seed, often: []float64{0.01, 0.03, 0.1}[r.IntN(3)], chance: []float64{0, 0.05, 0.15}[r.IntN(3)],
		deeds: []deed{deedNamed("a request to apply")},
	}
	for range 1 + r.IntN(7) {
		p.deeds = append(p.deeds, deeds[r.IntN(len(deeds))])
	}
	return p
}

// replay plays a plan again, and fails the test with what happened when it breaks a promise.
func replay(t *testing.T, p plan, how string) {
	t.Helper()
	w, err := run(p, newVisits(), true)
	if err != nil {
		t.Errorf("%s\n\n%v\n\nplay it again: go -C test test ./sim %s", strings.Join(w.told.lines, "\n"), err, how)
	} else if testing.Verbose() {
		t.Log(strings.Join(w.told.lines, "\n"))
	}
}

// everywhere calls try on each core, with numbers that are never the same, until the time is over or it returns false.
func everywhere(from uint64, long time.Duration, try func(n uint64, v *Visits) bool) *Visits {
	var mu sync.Mutex
	var wg sync.WaitGroup
	all, next, end := newVisits(), from, time.Now().Add(long)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			v := newVisits()
			for time.Now().Before(end) {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if !try(n, v) {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.add(v)
		})
	}
	wg.Wait()
	return all
}

func TestSeeds(t *testing.T) {
	if *oneSeed != 0 {
		replay(t, planOf(*oneSeed), "")
		return
	}
	begin := time.Now()
	var mu sync.Mutex
	broken := map[string][]uint64{}
	v := everywhere(*first, *budget, func(seed uint64, v *Visits) bool {
		if _, err := run(planOf(seed), v, false); err != nil {
			mu.Lock()
			defer mu.Unlock()
			promise, _, _ := strings.Cut(err.Error(), ":")
			broken[promise] = append(broken[promise], seed)
		}
		return true
	})
	t.Logf("%d interleavings of %d seeds, %d steps, in %s", len(v.Orders), v.Runs, v.Steps, time.Since(begin).Round(time.Second))
	for promise, seeds := range broken {
		slices.Sort(seeds)
		t.Errorf("%q is broken by %d seeds: %v", promise, len(seeds), seeds[:min(len(seeds), 20)])
	}
	for _, seeds := range broken {
		replay(t, planOf(seeds[0]), fmt.Sprintf("-run TestSeeds -sim.seed=%d", seeds[0]))
		return
	}
}
