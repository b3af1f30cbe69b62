package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyPoll   = 25 * time.Millisecond
	killBound   = 10 * time.Second // how long the kernel may take to end a process after SIGKILL
	tailLines   = 25
	maxTailSize = 64 << 10 // bytes read from the end of a log
)

// process is one running program of the world; its output goes to a log file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how it ended; valid once done is closed
}

// startProcess starts the program as attr says; one without a process group of its own could not be stopped.
func startProcess(name, path string, args, env []string, logPath string, attr *syscall.SysProcAttr) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close()
	p := &process{name: name, log: logPath, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = env, log, log, attr
	if err := onSpawner(p.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended reports whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop asks the process to end, and kills its group when it has not after grace. It returns once the process is gone.
func (p *process) stop(grace time.Duration) error {
	if p.ended() {
		return nil
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
	}
	return p.kill()
}

// kill ends the process and all of its group without asking.
func (p *process) kill() error {
	p.signal(syscall.SIGKILL)
	select {
	case <-p.done:
		return nil
	case <-time.After(killBound):
		return fmt.Errorf("%s (pid %d) is still there %s after SIGKILL", p.name, p.cmd.Process.Pid, killBound)
	}
}

// signal reaches the whole group; a group that is gone is no error.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// waitReady polls until ready says nil. It gives up when the process ends or ctx does; the error has the log's end.
func (p *process) waitReady(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return &componentError{name: p.name, what: fmt.Sprintf("ended instead of becoming ready (%v)", p.err), tail: tail(p.log)}
		case <-ctx.Done():
			return &componentError{name: p.name, what: fmt.Sprintf("did not become ready: %v (%v)", last, context.Cause(ctx)), tail: tail(p.log)}
		case <-tick.C:
		}
	}
}

// componentError is a component that failed, with the last lines it logged.
type componentError struct{ name, what, tail string }

func (e *componentError) Error() string {
	return fmt.Sprintf("%s %s; its log ends:\n%s", e.name, e.what, e.tail)
}

// portTaken reports whether err is a component that found its port in use.
func portTaken(err error) bool {
	var c *componentError
	return errors.As(err, &c) && strings.Contains(c.tail, "address already in use") || errors.Is(err, syscall.EADDRINUSE)
}

// tail is the last lines of a log, or says why there are none.
func tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err.Error()
	}
	start := max(0, info.Size()-maxTailSize)
	buf := make([]byte, info.Size()-start)
	n, _ := f.ReadAt(buf, start)
	all := strings.Split(strings.TrimRight(string(buf[:n]), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-tailLines):], "\n")
}

// onSpawner runs start on one OS thread that lives as long as this process. Linux kills a child with its parent when
// the *thread* that made it ends, and the Go runtime ends threads as it likes; this one it keeps.
func onSpawner(start func() error) error {
	spawnerOnce.Do(func() {
		go func() {
			runtime.LockOSThread()
			for s := range spawner {
				s.result <- s.start()
			}
		}()
	})
	s := spawn{start: start, result: make(chan error, 1)}
	spawner <- s
	return <-s.result
}

type spawn struct {
	start  func() error
	result chan error
}

var (
	spawnerOnce sync.Once
	spawner     = make(chan spawn)
)
