package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// role, set in the environment, makes this test binary play a component.
const role = "HOLDFAST_TEST_ROLE"

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(role)]; play != nil {
		play()
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// bound ends every wait of these tests.
const bound = 30 * time.Second

var roles = map[string]func(){
	"port taken": func() { fmt.Println("listen tcp 127.0.0.1:1: bind: address already in use") },
	"idle":       func() { fmt.Println("idling"); time.Sleep(bound) },
	"stubborn":   func() { signal.Ignore(syscall.SIGTERM); fmt.Println("idling"); time.Sleep(bound) },
	// says what it is called and where it runs
	"whoami": func() {
		host, _ := os.Hostname()
		namespace, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
		fmt.Printf("%s in %s\nidling\n", host, namespace)
		time.Sleep(bound)
	},
	// holds the lock at the path in its last argument for as long as it lives
	"locker": func() {
		if l, err := buildcache.TryLock(os.Args[1]); l == nil || err != nil {
			fmt.Println(l, err)
			return
		}
		fmt.Println("idling")
		time.Sleep(bound)
	},
	// starts a locker as a component of its own and waits to be killed
	"parent": func() {
		p, err := startProcess("locker", os.Args[0], os.Args[1:], playing("locker"), os.Args[1]+".log", dieWithParent())
		if err == nil {
			err = p.waitReady(context.Background(), logged(p))
		}
		fmt.Println("started", err)
		_, _ = io.Copy(io.Discard, os.Stdin)
	},
}

func playing(r string) []string { return append(os.Environ(), role+"="+r) }

// logged is ready once the component has said that it idles.
func logged(p *process) func(context.Context) error {
	return func(context.Context) error {
		if strings.Contains(tail(p.log), "idling") {
			return nil
		}
		return errors.New("it does not idle yet")
	}
}

func play(t *testing.T, r string) *process {
	t.Helper()
	p, err := startProcess(r, os.Args[0], nil, playing(r), filepath.Join(t.TempDir(), "log"), dieWithParent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.kill() })
	return p
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestAComponentDiesWithItsParentHoweverThatDies(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	parent := exec.CommandContext(within(t, bound), os.Args[0], lock)
	parent.Env = playing("parent")
	if _, err := parent.StdinPipe(); err != nil { // held open, so that it waits
		t.Fatal(err)
	}
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "started <nil>\n" {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	if l, err := buildcache.TryLock(lock); l != nil || err != nil {
		t.Fatalf("the component does not hold its lock: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	l, err := buildcache.TakeLock(within(t, bound/2), lock, func() {})
	if err != nil {
		t.Fatalf("the component outlives its parent: %v", err)
	}
	l.Release()
}

func TestStopAsksFirstAndKillsAfterTheGrace(t *testing.T) {
	for r, grace := range map[string]time.Duration{"idle": bound, "stubborn": 50 * time.Millisecond} {
		t.Run(r, func(t *testing.T) {
			p := play(t, r)
			if err := p.waitReady(within(t, bound), logged(p)); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if err := p.stop(grace); err != nil || !p.ended() {
				t.Errorf("stopped: %v, %v", p.ended(), err)
			}
			if took := time.Since(begin); took > bound/2 {
				t.Errorf("took %s", took)
			}
			if err := p.stop(grace); err != nil {
				t.Errorf("stopping it again: %v", err)
			}
		})
	}
}

func TestAComponentThatEndsEarlyIsReportedWithItsLog(t *testing.T) {
	p := play(t, "port taken")
	err := p.waitReady(within(t, bound), func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.Contains(err.Error(), "port taken ended instead of becoming ready (exit status 1)") {
		t.Errorf("got %v", err)
	}
	if !portTaken(fmt.Errorf("start: %w", err)) {
		t.Errorf("not recognised as a port that is taken: %v", err)
	}
}

func TestAComponentThatIsNeverReadyIsReportedWithWhatItLacks(t *testing.T) {
	p := play(t, "idle")
	err := p.waitReady(within(t, 100*time.Millisecond), func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.Contains(err.Error(), "idle did not become ready: no answer") {
		t.Errorf("got %v", err)
	}
	if portTaken(err) {
		t.Error("taken for a port that is in use")
	}
}

func TestTailIsTheLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("early\n", 40000)+strings.Repeat("late\n", tailLines)), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := tail(path), strings.TrimSuffix(strings.Repeat("late\n", tailLines), "\n"); got != want {
		t.Errorf("got %q", got)
	}
	if got := tail(path + ".none"); !strings.Contains(got, "no such file") {
		t.Errorf("of a missing log: %q", got)
	}
}
