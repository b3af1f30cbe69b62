//go:build linux

// Command init is the first process of a node. It expects process, mount, network and host name namespaces of its own,
// arranges them as its plan says, starts the programs of the node and reaps what they leave. When it ends, for whatever
// reason, the kernel ends every process of the node and takes its mounts and interfaces away.
package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-gitops/holdfast/test/node/plan"
)

// socketBound is how long a program may take to listen, on a busy machine.
const socketBound = 60 * time.Second

func main() {
	fmt.Fprintln(os.Stderr, "init:", run(os.Args[1:]))
	os.Exit(1)
}

// run returns why it cannot go on; being told to stop ends the process at once.
func run(args []string) error {
	if len(args) != 1 || os.Getpid() != 1 {
		return fmt.Errorf("usage: init plan-file, as the first process of a namespace")
	}
	p, err := plan.Read(args[0])
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-stop
		os.Exit(0)
	}()
	if err := arrange(p); err != nil {
		return err
	}
	names := map[int]string{}
	for _, prog := range p.Programs {
		if err := await(prog.Await); err != nil {
			return fmt.Errorf("start %s: %w", prog.Name, err)
		}
		pid, err := start(prog)
		if err != nil {
			return fmt.Errorf("start %s: %w", prog.Name, err)
		}
		names[pid] = prog.Name
		fmt.Printf("%s runs\n", prog.Name)
	}
	return reap(names)
}

// arrange makes the namespaces what the plan says.
func arrange(p plan.Plan) error {
	if err := syscall.Sethostname([]byte(p.HostName)); err != nil {
		return fmt.Errorf("take the host name: %w", err)
	}
	// Nothing mounted here is seen outside; what kubelet mounts is seen by containerd and by pods that ask for it.
	for _, flag := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", syscall.MS_REC|flag, ""); err != nil {
			return fmt.Errorf("keep mounts to the node: %w", err)
		}
	}
	if err := commands(p.Outside); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for path, instead := range p.Over {
		if err := syscall.Mount(instead, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("put %s in the place of %s: %w", instead, path, err)
		}
	}
	return commands(p.Inside)
}

// commands runs them one after the other.
func commands(all [][]string) error {
	for _, words := range all {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// await returns once the socket takes connections.
func await(socket string) error {
	if socket == "" {
		return nil
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(socketBound); ; <-tick.C {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return fmt.Errorf("wait for what it needs: %w", err)
		}
	}
}

// start starts the program and returns its process id.
func start(p plan.Program) (int, error) {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	return syscall.ForkExec(p.Path, slices.Concat([]string{p.Path}, p.Args), &syscall.ProcAttr{
		Env: p.Env, Files: []uintptr{null.Fd(), log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// reap waits for every process of the node that has lost its parent, and returns when one of names has ended.
func reap(names map[int]string) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return fmt.Errorf("wait for the node's processes: %w", err)
		case names[pid] != "":
			return fmt.Errorf("%s has ended (exit code %d, signal %d)", names[pid], status.ExitStatus(), status.Signal())
		}
	}
}
