package start

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/internal/redact"
)

// seen is how long a process that cannot hold stays after its bound, so that kubelet, which asks every second, has heard that
// the gate is open and has acted on it.
const seen = 10 * time.Second

// Gate says whether the controller of this pod may start. Its methods may be called from any goroutine.
type Gate struct {
	began time.Time // carries the monotonic clock
	bound time.Duration
	once  sync.Once
	first chan struct{} // closed when the holder is ready for the first time

	mu  sync.Mutex
	why func() error // why the holder is not ready; nil: it is
}

// State is how a Gate stands at one moment.
type State struct {
	Ready bool          // the holder holds
	Open  bool          // the controller may start: Ready, or the bound is over
	Why   string        // why the holder is not ready, without credentials; "" when it is
	Left  time.Duration // until the bound is over; 0 afterwards
}

// NewGate returns a gate that opens when the holder is ready, and otherwise bound after now, which is to be the beginning of
// the process. With a bound of 0 or less it is open.
func NewGate(bound time.Duration) *Gate {
	g := &Gate{began: time.Now(), bound: bound, first: make(chan struct{})}
	g.Waits(func() error { return errors.New("the holder has only just begun") })
	return g
}

// Ready says that the holder holds.
func (g *Gate) Ready() {
	g.set(nil)
	g.once.Do(func() { close(g.first) })
}

// Waits says that the holder does not hold, because of what why returns whenever somebody asks. why must return an error,
// and not wait for anything.
func (g *Gate) Waits(why func() error) { g.set(why) }

func (g *Gate) set(why func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = why
}

// State returns how the gate stands now.
func (g *Gate) State() State {
	g.mu.Lock()
	why := g.why
	g.mu.Unlock()
	s := State{Ready: why == nil, Left: max(0, g.bound-time.Since(g.began))}
	s.Open = s.Ready || s.Left == 0
	if why != nil {
		s.Why = redact.Text(why().Error())
	}
	return s
}

// Tell logs that the controller starts without its holder, if the bound ends before the holder is ready, and then when it is.
// It returns after that, or when ctx ends.
func (g *Gate) Tell(ctx context.Context) {
	if !g.passes(ctx, g.bound) {
		return
	}
	logger := log.FromContext(ctx).WithValues("bound", g.bound.String())
	logger.Error(errors.New(g.State().Why), "the controller starts beside a holder that does not hold: what is suspended stays so, and nobody performs or takes back anything")
	select {
	case <-ctx.Done():
	case <-g.first:
		logger.Info("the holder holds, later than its controller could start", "after", time.Since(g.began).Round(time.Second).String())
	}
}

// passes waits until so much time has passed since the beginning. It returns false when the holder was ready before, or ctx
// has ended.
func (g *Gate) passes(ctx context.Context, after time.Duration) bool {
	timer := time.NewTimer(after - time.Since(g.began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-g.first:
		return false
	case <-timer.C:
		return true
	}
}

// Outlast returns when the process may end for a failure without keeping its controller from starting: ten seconds after the
// bound, so that the open gate has been seen, or when ctx ends.
func (g *Gate) Outlast(ctx context.Context) {
	timer := time.NewTimer(g.bound + seen - time.Since(g.began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Register adds the gate's metrics to a registry.
func (g *Gate) Register(registry prometheus.Registerer) error {
	return errors.Join(
		registry.Register(gauge("holdfast_holder_ready", "1 while the holder holds, 0 while it is not ready to.",
			func() bool { return g.State().Ready })),
		registry.Register(gauge("holdfast_holder_bypassed", "1 while the controller may run although its holder is not ready.",
			func() bool { s := g.State(); return s.Open && !s.Ready })),
	)
}

func gauge(name, help string, so func() bool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		if so() {
			return 1
		}
		return 0
	})
}
