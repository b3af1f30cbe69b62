package branch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

var morning = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// world is a worker on a real repository, with a clock that moves only when told.
type world struct {
	testing.TB
	server *gitstoretest.Server
	clock  *testclock.FakeClock
	worker *branch.Worker
	stop   context.CancelFunc
	ended  chan error
	change chan struct{}
}

// start runs a worker on a repository with these files; without any the repository is empty.
func start(t testing.TB, files map[string]string, change ...func(*branch.Options)) *world {
	t.Helper()
	w := &world{TB: t, server: gitstoretest.New(t), clock: testclock.NewFakeClock(morning), ended: make(chan error, 1), change: make(chan struct{}, 1)}
	if len(files) > 0 {
		w.server.Push("main", "bob", "start", files)
	}
	opts := branch.Options{
		Repository: open(t, w.server), Planner: manifest.NewIndex(1000), Branch: "main", Clock: w.clock, Prefix: "test", Poll: time.Minute,
		OnChange: func() {
			select {
			case w.change <- struct{}{}:
			default:
			}
		},
	}
	for _, f := range change {
		f(&opts)
	}
	w.worker = branch.New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() {
		w.ended <- w.worker.Run(ctx)
		close(w.ended)
	}()
	t.Cleanup(func() {
		w.server.Intercept(nil)
		cancel()
		_ = w.ends()
	})
	return w
}

// open returns the server's repository with a store of its own.
func open(t testing.TB, s *gitstoretest.Server) *gitstore.Repository {
	t.Helper()
	repo, err := gitstore.Open(t.TempDir(), s.URL, gitstore.Options{
		Timeout: 20 * time.Second,
		Credentials: func(context.Context) (gitstore.Credentials, error) {
			return gitstore.Credentials{Username: gitstoretest.Username, Password: gitstoretest.Password}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// ends waits for the worker to end, moving the clock past whatever it waits for, and returns what it said.
func (w *world) ends() error {
	for {
		select {
		case err := <-w.ended:
			return err
		case <-time.After(pace):
			w.clock.Step(time.Minute)
		}
	}
}

// pace is how often the clock is moved again, in real time: a step taken just before the worker looked at the clock
// wakes nobody.
const pace = 20 * time.Millisecond

// until waits for the snapshot to say so. The wait is for real work, on a clock that does not move.
func (w *world) until(what string, ok func(branch.Snapshot) bool) branch.Snapshot {
	w.Helper()
	timeout := time.After(30 * time.Second)
	for {
		s := w.worker.Snapshot()
		if ok(s) {
			return s
		}
		select {
		case <-w.change:
		case <-timeout:
			w.Fatalf("waited for %s: %+v", what, s)
		}
	}
}

func (w *world) settled() branch.Snapshot {
	w.Helper()
	return w.until("everything to be pushed", func(s branch.Snapshot) bool { return s.TipKnown && !s.Busy && s.Err == nil })
}

// retried moves the clock past every backoff until the snapshot says so.
func (w *world) retried(what string, ok func(branch.Snapshot) bool) branch.Snapshot {
	w.Helper()
	timeout := time.After(30 * time.Second)
	for {
		s := w.worker.Snapshot()
		if ok(s) {
			return s
		}
		w.clock.Step(time.Minute)
		select {
		case <-time.After(pace):
		case <-timeout:
			w.Fatalf("waited for %s: %+v", what, s)
		}
	}
}

func (w *world) edit(target, by, object, value string) {
	w.Helper()
	if err := w.worker.Submit(w.Context(), configMap(target, by, object, value)); err != nil {
		w.Fatal(err)
	}
}

func name(target string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team-a", Name: target}
}

// configMap is an edit that sets data.value of a ConfigMap, which it makes where there is none.
func configMap(target, by, object, value string) branch.Edit {
	return branch.Edit{Target: name(target), Author: author.Of(by), At: morning, Intent: manifest.Intent{
		Object:   manifest.Identity{Version: "v1", Kind: "ConfigMap", Namespace: "team-a", Name: object},
		Resource: "configmaps", Create: true,
		Changes: []manifest.Change{{Path: manifest.Path{{Key: "data"}, {Key: "value"}}, Value: value}},
		Whole: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": object, "namespace": "team-a"},
			"data": map[string]any{"value": value}},
	}}
}

func manifestOf(object, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: team-a\ndata:\n  value: %q # keep\n", object, value)
}

var atOnce = branch.TargetSettings{Folder: "apps", Committer: holdfast}

var holdfast = author.Author{Name: "Holdfast", Email: "holdfast@holdfast.invalid"}
