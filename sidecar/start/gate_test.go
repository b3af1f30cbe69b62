package start

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
)

const bound = 30 * time.Second

func waiting() error {
	return errors.New("no API server answers at https://holder:secret@api.example:6443/?token=secret")
}

func TestAGateOpensWhenTheHolderIsReadyAndAtItsBoundAnyhow(t *testing.T) {
	for _, row := range []struct {
		name              string
		bound             time.Duration
		readyAt, lookAt   time.Duration // readyAt 0: never
		open, ready       bool
		left              time.Duration
		isReady, bypassed float64
	}{
		{"is shut at first", bound, 0, 0, false, false, bound, 0, 0},
		{"is shut to the last moment before its bound", bound, 0, bound - 1, false, false, 1, 0, 0},
		{"opens at its bound beside a holder that is not ready", bound, 0, bound, true, false, 0, 0, 1},
		{"stays open", bound, 0, time.Hour, true, false, 0, 0, 1},
		{"opens as soon as the holder is ready", bound, 2 * time.Second, 2 * time.Second, true, true, bound - 2*time.Second, 1, 0},
		{"is open for a holder that is ready late", bound, time.Minute, 2 * time.Minute, true, true, 0, 1, 0},
		{"is open from the beginning without a bound", 0, 0, 0, true, false, 0, 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(row.bound)
				g.Waits(waiting)
				if row.readyAt > 0 {
					time.AfterFunc(row.readyAt, g.Ready)
				}
				time.Sleep(row.lookAt) // in the time of this bubble, which passes by itself
				synctest.Wait()
				s := g.State()
				if s.Open != row.open || s.Ready != row.ready || s.Left != row.left {
					t.Errorf("got %+v", s)
				}
				if (s.Why == "") != s.Ready {
					t.Errorf("ready: %v, because %q", s.Ready, s.Why)
				}
				if got := values(t, g); got["holdfast_holder_ready"] != row.isReady || got["holdfast_holder_bypassed"] != row.bypassed {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

func values(t *testing.T, g *Gate) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := g.Register(registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return got
}

func TestAHolderThatFailsAfterItWasReadyIsNotReadyAndKeepsNobodyWaitingAfterTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(bound)
		g.Ready()
		g.Waits(waiting)
		if s := g.State(); s.Ready || s.Open {
			t.Errorf("got %+v", s)
		}
		time.Sleep(bound)
		if s := g.State(); s.Ready || !s.Open {
			t.Errorf("got %+v", s)
		}
	})
}

func TestWhyAHolderIsNotReadyNamesNoCredentials(t *testing.T) {
	g := NewGate(bound)
	if why := g.State().Why; why == "" {
		t.Error("nothing is said at first")
	}
	g.Waits(waiting)
	if why := g.State().Why; !strings.Contains(why, "api.example:6443") || strings.Contains(why, "secret") {
		t.Errorf("got %q", why)
	}
}

// told returns a context with a logger, and a way to see its lines so far.
func told(ctx context.Context) (context.Context, func() []string) {
	var mu sync.Mutex
	var lines []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})
	return logr.NewContext(ctx, log), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(lines)
	}
}

func TestItIsSaidOnceWhenTheControllerStartsWithoutItsHolderAndOnceWhenThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := told(t.Context())
		g := NewGate(bound)
		g.Waits(waiting)
		go g.Tell(ctx)
		time.Sleep(bound - time.Nanosecond)
		synctest.Wait()
		if got := lines(); len(got) != 0 {
			t.Fatalf("before the bound: %v", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], "does not hold") || !strings.Contains(got[0], "api.example:6443") {
			t.Fatalf("at the bound: %v", got)
		}
		time.Sleep(time.Hour)
		g.Ready()
		synctest.Wait()
		if got := lines(); len(got) != 2 || !strings.Contains(got[1], "the holder holds") {
			t.Fatalf("when it is ready: %v", got)
		}
	})
}

func TestNothingIsSaidOfAHolderThatIsReadyInTimeOrToldToStop(t *testing.T) {
	for name, end := range map[string]func(*Gate, context.CancelFunc){
		"ready":        func(g *Gate, _ context.CancelFunc) { g.Ready(); g.Ready() },
		"told to stop": func(_ *Gate, stop context.CancelFunc) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ctx, lines := told(ctx)
				g := NewGate(bound)
				end(g, stop)
				g.Tell(ctx)
				if got := lines(); len(got) != 0 {
					t.Errorf("got %v", got)
				}
			})
		})
	}
}

func TestAProcessThatFailsOutlastsItsBoundUntilThatHasBeenSeen(t *testing.T) {
	for _, row := range []struct {
		name            string
		failsAt, endsAt time.Duration
	}{
		{"one that fails at once", 0, bound + seen},
		{"one that fails at the bound", bound, bound + seen},
		{"one that fails long after it", time.Hour, time.Hour},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, g := time.Now(), NewGate(bound)
				time.Sleep(row.failsAt)
				g.Outlast(t.Context())
				if got := time.Since(begin); got != row.endsAt {
					t.Errorf("it ends after %s, and not after %s", got, row.endsAt)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		NewGate(bound).Outlast(ctx)
		if got := time.Since(begin); got != time.Second {
			t.Errorf("told to stop it goes on for %s", got)
		}
	})
}
