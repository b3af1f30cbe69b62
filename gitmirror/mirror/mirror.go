package mirror

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
	"github.com/holdfast-gitops/holdfast/gitmirror/watch"
)

const (
	// indexedFiles bounds the files whose documents are remembered, over all repositories.
	indexedFiles = 50_000
	// handOver bounds how long a stop waits until what the streams brought has its names and is at its branch.
	handOver = audit.Grace + time.Second
)

// Options are what a Mirror works with. All fields are required.
type Options struct {
	Client  dynamic.Interface // of the mirrored cluster
	Facts   audit.Facts
	DataDir string        // for repositories; made when missing
	Poll    time.Duration // how often each branch's tip is looked at

	// Credentials returns those of a GitProvider, each time they are needed.
	Credentials func(ctx context.Context, provider types.NamespacedName) (gitstore.Credentials, error)
	// Changed is told of each target whose State may have changed. It may block.
	Changed func(ctx context.Context, target types.NamespacedName)
	// Refused is told of each edit of a target that has no place in Git, once. It may block.
	Refused func(ctx context.Context, target types.NamespacedName, r Refusal)
	Metrics *Metrics
	Log     logr.Logger
}

// Mirror mirrors targets. Make it with New, Run it once; Set, Remove and State may be called from any goroutine.
type Mirror struct {
	opts    Options
	index   *manifest.Index
	news    *news
	streams *watch.Streams
	// A stop ends what feeds before what is fed: the streams, then the lines, then the branch workers.
	endStreams context.CancelFunc
	ctx        context.Context // of the lines and the workers
	cancel     context.CancelFunc
	lines      sync.WaitGroup // the targets' ways from their streams to their branch
	workers    sync.WaitGroup

	mu       sync.Mutex
	stopping bool
	targets  map[types.NamespacedName]*running
	branches map[branchKey]*owned
	repos    map[repoKey]*gitstore.Repository
}

// errStopping is what Set returns while the program ends.
var errStopping = errors.New("gitmirror is stopping")

// New returns a Mirror of nothing.
func New(o Options) *Mirror {
	streams, endStreams := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mirror{
		opts: o, index: manifest.NewIndex(indexedFiles), news: newNews(), endStreams: endStreams, ctx: ctx, cancel: cancel,
		targets:  map[types.NamespacedName]*running{},
		branches: map[branchKey]*owned{},
		repos:    map[repoKey]*gitstore.Repository{},
	}
	m.streams = watch.NewStreams(streams, o.Client, func(watch.Scope) { m.news.addAll() })
	return m
}

// Start tells Changed and Refused what happens until ctx is done. It then ends the streams, lets what they brought get its
// names, pushes what is decided, and returns once everything has ended.
func (m *Mirror) Start(ctx context.Context) error {
	telling, quiet := context.WithCancel(context.WithoutCancel(ctx))
	var teller sync.WaitGroup
	teller.Go(func() {
		m.news.tell(telling, func(names map[types.NamespacedName]struct{}, all bool) {
			m.tell(ctx, names, all)
		})
	})
	<-ctx.Done()
	m.stop()
	quiet()
	teller.Wait()
	m.tell(ctx, nil, true)
	return nil
}

// NeedLeaderElection is false: there is one gitmirror.
func (m *Mirror) NeedLeaderElection() bool { return false }

// tell says what is new of the targets named, or of all. Changed is told nothing any more once ctx is done.
func (m *Mirror) tell(ctx context.Context, names map[types.NamespacedName]struct{}, all bool) {
	m.reap(time.Now())
	list := slices.Collect(maps.Keys(names))
	if all {
		list = m.names()
	}
	for _, name := range list {
		m.reportRefusals(context.WithoutCancel(ctx), name)
		if ctx.Err() == nil {
			m.opts.Changed(ctx, name)
		}
	}
}

func (m *Mirror) stop() {
	m.mu.Lock()
	m.stopping = true
	for _, r := range m.targets {
		m.lines.Go(r.finish)
	}
	m.mu.Unlock()
	m.endStreams()
	m.streams.Wait()
	ended := make(chan struct{})
	go func() {
		m.lines.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(handOver):
	}
	m.cancel()
	<-ended
	m.workers.Wait()
}

// Set makes a target be mirrored as given, or changes how.
func (m *Mirror) Set(t Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return errStopping
	}
	key := branchKey{t.Provider, t.Branch}
	r := m.targets[t.Name]
	if r != nil && r.key != key {
		m.remove(t.Name, r)
		r = nil
	}
	b, err := m.branch(key, t.URL)
	if err != nil {
		return err
	}
	b.targets[t.Name] = struct{}{}
	b.worker.SetTarget(t.Name, branch.TargetSettings{Folder: t.Folder, Idle: t.Idle, Max: t.Max, Committer: t.Committer})
	if r == nil {
		r = m.newRunning(t, key, b.worker)
		m.targets[t.Name] = r
	}
	r.set(t)
	return nil
}

// Remove stops mirroring a target; what is decided for it is still pushed.
func (m *Mirror) Remove(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.targets[name]; r != nil {
		m.remove(name, r)
	}
}

// remove ends a target. Its branch worker goes on until nothing waits there any more. The caller holds the lock.
func (m *Mirror) remove(name types.NamespacedName, r *running) {
	r.cancel()
	delete(m.targets, name)
	b := m.branches[r.key]
	b.worker.RemoveTarget(name)
	delete(b.targets, name)
	b.left = time.Now()
}

// names returns every target.
func (m *Mirror) names() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.targets))
}
