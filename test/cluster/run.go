package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
)

// run starts the component and waits until it is ready. A component that does not get there is stopped again.
func (w *World) run(ctx context.Context, c component) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startBound, fmt.Errorf("not within %s", startBound))
	defer cancel()
	path, args, attr := w.command(c)
	p, err := startProcess(c.name, path, args, w.environment(c.env...), w.logFile(c.name), attr)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.running = append(w.running, &running{component: c, process: p})
	w.mu.Unlock()
	if err := p.waitReady(ctx, c.ready); err != nil {
		_ = w.end(c.name, (*process).kill)
		return err
	}
	return nil
}

// command is what is executed for the component, and how.
func (w *World) command(c component) (path string, args []string, attr *syscall.SysProcAttr) {
	path, args = w.path("bin/"+cmp.Or(c.program, c.name)), slices.Concat(c.args, w.nodeArgs(c.name), w.options.Args[c.name], c.more)
	if c.attr != nil {
		return path, args, c.attr
	}
	if c.pod == "" {
		return path, args, dieWithParent()
	}
	return w.path("bin/pod"), append([]string{c.pod, w.podRun(c.pod), path}, args...), ownHost()
}

// find returns the running component, or nil.
func (w *World) find(name string) *running {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.IndexFunc(w.running, func(r *running) bool { return r.name == name }); i >= 0 {
		return w.running[i]
	}
	return nil
}

// end ends the component by how and forgets it. One that is not running is no error.
func (w *World) end(name string, how func(*process) error) error {
	r := w.find(name)
	if r == nil {
		return nil
	}
	err := how(r.process)
	w.mu.Lock()
	w.running = slices.DeleteFunc(w.running, func(o *running) bool { return o == r })
	w.mu.Unlock()
	return err
}

// Restart stops the component in order, starts it again as it was and waits until it is ready.
func (w *World) Restart(ctx context.Context, name string) error {
	r := w.find(name)
	if r == nil {
		return fmt.Errorf("restart %s: it is not running", name)
	}
	if err := w.end(name, func(p *process) error { return p.stop(r.grace) }); err != nil {
		return err
	}
	return w.run(ctx, r.component)
}

// RestartWith is Restart with further arguments, which stay until the next RestartWith; none takes them away again.
func (w *World) RestartWith(ctx context.Context, name string, args ...string) error {
	if r := w.find(name); r != nil {
		r.more = args
	}
	return w.Restart(ctx, name)
}

// Kill is kill -9 of the component; it returns once the process is gone. Revive starts it again.
func (w *World) Kill(name string) error {
	r := w.find(name)
	if r == nil {
		return fmt.Errorf("kill %s: it is not running", name)
	}
	return r.process.kill()
}

// Revive starts a component that was killed, or has ended by itself, as it was and waits until it is ready.
func (w *World) Revive(ctx context.Context, name string) error {
	r := w.find(name)
	if r == nil || !r.process.ended() {
		return fmt.Errorf("revive %s: it was not killed", name)
	}
	if err := w.end(name, (*process).kill); err != nil {
		return err
	}
	return w.run(ctx, r.component)
}

// Running reports whether the component's process is there.
func (w *World) Running(name string) bool {
	r := w.find(name)
	return r != nil && !r.process.ended()
}

// PIDs are the process ids of everything that runs in the world, by component.
func (w *World) PIDs() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	pids := map[string]int{}
	for _, r := range w.running {
		if !r.process.ended() {
			pids[r.name] = r.process.cmd.Process.Pid
		}
	}
	return pids
}

// LogTail is the end of the component's log, for a failure message.
func (w *World) LogTail(name string) string { return tail(w.logFile(name)) }

// LogDir has one file a component, named after it.
func (w *World) LogDir() string { return w.path("logs") }

func (w *World) logFile(name string) string { return w.path("logs/" + name + ".log") }
