package buildcache

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// halfBuild, set in the environment to a cache folder, makes this test binary begin a build there and hang in it.
const halfBuild = "HOLDFAST_TEST_HALF_BUILD"

const someKey = "0123456789abcdef"

func TestMain(m *testing.M) {
	if dir := os.Getenv(halfBuild); dir != "" {
		c := Cache{Dir: dir, Out: io.Discard}
		_, err := c.get(context.Background(), "tiny", someKey, func(_ context.Context, out string) error {
			if err := os.WriteFile(out, []byte("half"), 0o755); err != nil {
				return err
			}
			fmt.Println("half written")
			_, _ = io.Copy(io.Discard, os.Stdin) // until killed
			return errors.New("was not killed")
		})
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func testCache(t *testing.T) (Cache, *output) {
	t.Helper()
	out := &output{}
	return Cache{Dir: t.TempDir(), Out: out}, out
}

// output collects progress lines from any goroutine.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestTwoAtOnceBuildOnceAndTheSecondSaysItWaits(t *testing.T) {
	c, out := testCache(t)
	building, goOn := make(chan struct{}), make(chan struct{})
	builds := 0
	build := func(_ context.Context, out string) error {
		builds++
		close(building) // a second build panics here
		<-goOn
		return os.WriteFile(out, []byte("whole"), 0o755)
	}
	results := make(chan error, 2)
	get := func() {
		_, err := c.get(t.Context(), "tiny", someKey, build)
		results <- err
	}
	go get()
	<-building
	go get()
	deadline := time.After(30 * time.Second)
	for !strings.Contains(out.String(), "another process is building it, waiting") {
		select {
		case <-deadline:
			t.Fatalf("the second never said that it waits:\n%s", out)
		case <-time.After(time.Millisecond):
		}
	}
	close(goOn)
	for range 2 {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if builds != 1 {
		t.Errorf("built %d times", builds)
	}
}

func TestWaitingForSomebodyElsesBuildEndsWithTheContext(t *testing.T) {
	c, _ := testCache(t)
	lock, err := TryLock(filepath.Join(c.Dir, "lock", "tiny-"+someKey))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	defer lock.Release()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("had enough"))
	defer cancel()
	_, err = c.get(ctx, "tiny", someKey, func(context.Context, string) error { t.Error("built without the lock"); return nil })
	if err == nil || !strings.Contains(err.Error(), "had enough") {
		t.Errorf("got %v", err)
	}
}

func TestAProgramIsBuiltByGoOnceAndRuns(t *testing.T) {
	c, out := testCache(t)
	p := tiny(t)
	for range 2 {
		path, err := c.Get(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := exec.Command(path).Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
			t.Fatalf("the program ended with %v, want exit code 7", err)
		}
	}
	if got := strings.Count(out.String(), "building"); got != 1 || !strings.HasSuffix(out.String(), "tiny: cached\n") {
		t.Errorf("said:\n%s", out)
	}
}

func TestABuildThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	c, _ := testCache(t)
	p := tiny(t)
	write(t, filepath.Join(p.Dir, "main.go"), "package main\n\nfunc main() { nowhere() }\n")
	_, err := c.Get(t.Context(), p)
	if err == nil || !strings.Contains(err.Error(), "undefined: nowhere") {
		t.Errorf("got %v", err)
	}
	if left := files(t, c); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestABuildThatIsKilledLeavesNoHalfProgram(t *testing.T) {
	c, _ := testCache(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), halfBuild+"="+c.Dir)
	if _, err := cmd.StdinPipe(); err != nil { // held open, so that it hangs
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "half written\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if half := files(t, c); len(half) != 1 || half[0] == "tiny-"+someKey {
		t.Fatalf("the killed build left %v, want only a temporary file", half)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a lock that outlived its owner would hang here
	defer cancel()
	path, err := c.get(ctx, "tiny", someKey, func(_ context.Context, out string) error {
		if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the half program is still there: %v", err)
		}
		return os.WriteFile(out, []byte("whole"), 0o755)
	})
	if err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(path); string(content) != "whole" {
		t.Errorf("the cache holds %q", content)
	}
	if left := files(t, c); !slices.Equal(left, []string{"tiny-" + someKey}) {
		t.Errorf("left %v", left)
	}
}

func TestTheTwoVersionsUsedLastStay(t *testing.T) {
	c, _ := testCache(t)
	day := func(n int) time.Time { return time.Now().AddDate(0, 0, -n) }
	for name, used := range map[string]time.Time{
		"tiny-aaaaaaaaaaaaaaaa":       day(1),
		"tiny-bbbbbbbbbbbbbbbb":       day(2),
		"tiny-cccccccccccccccc":       day(3),
		"tiny-cccccccccccccccc.tmp":   day(9), // somebody may be building it
		"tiny-other-dddddddddddddddd": day(9), // another program
	} {
		path := filepath.Join(c.Dir, "bin", name)
		write(t, path, "program")
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(_ context.Context, out string) error { return os.WriteFile(out, nil, 0o755) }
	if _, err := c.get(t.Context(), "tiny", "bbbbbbbbbbbbbbbb", whole); err != nil { // used now
		t.Fatal(err)
	}
	if _, err := c.get(t.Context(), "tiny", someKey, whole); err != nil {
		t.Fatal(err)
	}
	want := []string{"tiny-" + someKey, "tiny-bbbbbbbbbbbbbbbb", "tiny-cccccccccccccccc.tmp", "tiny-other-dddddddddddddddd"}
	if got := files(t, c); !slices.Equal(got, want) {
		t.Errorf("left %v\nwant %v", got, want)
	}
}

func TestAProgramOfTheCheckoutFollowsEveryEdit(t *testing.T) {
	c, _ := testCache(t)
	p := tiny(t)
	run := func() int {
		path, err := c.BuildProduct(t.Context(), p.Dir, "tiny", ".")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path)
		_ = cmd.Run()
		return cmd.ProcessState.ExitCode()
	}
	if got := run(); got != 7 {
		t.Errorf("exit code %d, want 7", got)
	}
	write(t, filepath.Join(p.Dir, "main.go"), "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(8) }\n")
	if got := run(); got != 8 {
		t.Errorf("exit code %d after the edit, want 8", got)
	}
}

func TestTheCacheIsWhereHOLDFAST_CACHESays(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOLDFAST_CACHE", dir)
	if got, err := DefaultDir(); got != dir || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv("HOLDFAST_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	if got, err := DefaultDir(); filepath.Base(got) != "holdfast" || !strings.HasPrefix(got, dir) || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAMissingGoCommandIsNamed(t *testing.T) {
	c, _ := testCache(t)
	p := tiny(t)
	t.Setenv("PATH", t.TempDir())
	if _, err := c.Get(t.Context(), p); err == nil || !strings.Contains(err.Error(), "is Go installed") {
		t.Errorf("got %v", err)
	}
}

// files lists what is in the cache's folder of programs, sorted.
func files(t *testing.T, c Cache) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(c.Dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
