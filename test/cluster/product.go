package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// StartHolder builds the holder from the checkout and starts it beside Flux; args come after the usual ones.
func (w *World) StartHolder(ctx context.Context, args ...string) error {
	return w.startProduct(ctx, w.holder(Holder, w.ports.holderStatus, args), "./sidecar")
}

// StartHolderAhead is StartHolder with a clock that is ahead of the others'; below zero it is behind.
func (w *World) StartHolderAhead(ctx context.Context, ahead time.Duration, args ...string) error {
	flags, err := w.clockFlags(ahead)
	if err != nil {
		return err
	}
	c := w.holder(Holder, w.ports.holderStatus, args)
	c.program = holderProgram(ahead)
	return w.startProduct(ctx, c, "./sidecar", flags...)
}

// StopHolder stops the holder: with SIGTERM when graceful, else with SIGKILL.
func (w *World) StopHolder(graceful bool) error { return w.stopProduct(Holder, graceful) }

// StartGitmirror builds gitmirror from the checkout and starts it; args come after the usual ones. The API server
// already sends audit events to its port.
func (w *World) StartGitmirror(ctx context.Context, args ...string) error {
	return w.startProduct(ctx, w.gitmirror(args), "./gitmirror")
}

// StopGitmirror stops gitmirror: with SIGTERM when graceful, else with SIGKILL.
func (w *World) StopGitmirror(graceful bool) error { return w.stopProduct(Gitmirror, graceful) }

// HolderStatusURL is where the holder serves its status page and metrics.
func (w *World) HolderStatusURL() string { return "http://" + loopback(w.ports.holderStatus) }

// GitmirrorMetricsURL is where gitmirror serves its metrics.
func (w *World) GitmirrorMetricsURL() string {
	return "http://" + loopback(w.ports.gitmirrorMetrics) + "/metrics"
}

// BuildCommand builds the command line and returns where the world has it.
func (w *World) BuildCommand(ctx context.Context) (string, error) {
	const name = "holdfast"
	return w.path("bin/" + name), w.buildProgram(ctx, w.root, name, "./cli")
}

func (w *World) startProduct(ctx context.Context, c component, pkg string, flags ...string) error {
	if r := w.find(c.name); r != nil {
		if !r.process.ended() {
			return fmt.Errorf("start %s: it is already running", c.name)
		}
		if err := w.end(c.name, (*process).kill); err != nil {
			return err
		}
	}
	if err := w.buildProgram(ctx, w.root, cmp.Or(c.program, c.name), pkg, flags...); err != nil {
		return err
	}
	return w.run(ctx, c)
}

// buildProgram builds a program of one of the checkout's modules and puts it into the world under name.
func (w *World) buildProgram(ctx context.Context, module, name, pkg string, flags ...string) error {
	cache, err := openCache(w.options.Out)
	if err != nil {
		return err
	}
	path, err := cache.BuildProduct(ctx, module, name, pkg, flags...)
	if err != nil {
		return err
	}
	return binaries{name: path}.linkInto(w.path("bin"))
}

func (w *World) stopProduct(name string, graceful bool) error {
	r := w.find(name)
	if r == nil {
		return fmt.Errorf("stop %s: it is not running", name)
	}
	if graceful {
		return w.end(name, func(p *process) error { return p.stop(r.grace) })
	}
	return w.end(name, (*process).kill)
}
