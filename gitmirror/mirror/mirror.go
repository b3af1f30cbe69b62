package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
	"github.com/holdfast-gitops/holdfast/gitmirror/watch"
)

// indexedFiles bounds the files whose documents are remembered, over all repositories.
const indexedFiles = 50_000

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
	Refused func(ctx context.Context, target types.NamespacedName, message string)
	Log     logr.Logger
}

// Mirror mirrors targets. Make it with New, Run it once; Set, Remove and State may be called from any goroutine.
type Mirror struct {
	opts    Options
	index   *manifest.Index
	news    *news
	streams *watch.Streams
	ctx     context.Context // ends everything
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu       sync.Mutex
	targets  map[types.NamespacedName]*running
	branches map[branchKey]*owned
	repos    map[repoKey]*gitstore.Repository
}

// repoKey names a repository as one provider reaches it: two providers share nothing, not even the objects on disk, so
// that nobody writes with somebody else's credentials.
type repoKey struct {
	provider types.NamespacedName
	url      string
}

// branchKey names what one branch worker owns.
type branchKey struct {
	repoKey
	branch    string
	committer author.Author
}

// owned is a branch worker and the targets that write through it.
type owned struct {
	worker  *branch.Worker
	cancel  context.CancelFunc
	targets map[types.NamespacedName]struct{}
}

// New returns a Mirror of nothing.
func New(o Options) *Mirror {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Mirror{
		opts: o, index: manifest.NewIndex(indexedFiles), news: newNews(), ctx: ctx, cancel: cancel,
		targets:  map[types.NamespacedName]*running{},
		branches: map[branchKey]*owned{},
		repos:    map[repoKey]*gitstore.Repository{},
	}
	m.streams = watch.NewStreams(ctx, o.Client, func(watch.Scope) { m.news.addAll() })
	return m
}

// Start tells Changed and Refused what happens until ctx is done. It then ends the streams, pushes what is decided, and
// returns once everything has ended.
func (m *Mirror) Start(ctx context.Context) error {
	m.news.tell(ctx, m.names, func(n types.NamespacedName) {
		m.opts.Changed(ctx, n)
		m.reportRefusals(ctx, n)
	})
	m.cancel()
	m.streams.Wait()
	m.wg.Wait()
	return nil
}

// NeedLeaderElection is false: there is one gitmirror.
func (m *Mirror) NeedLeaderElection() bool { return false }

// Set makes a target be mirrored as given, or changes how.
func (m *Mirror) Set(t Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := branchKey{repoKey{t.Provider, t.URL}, t.Branch, t.Committer}
	r := m.targets[t.Name]
	if r != nil && r.key != key {
		m.remove(t.Name, r)
		r = nil
	}
	b, err := m.branch(key)
	if err != nil {
		return err
	}
	b.targets[t.Name] = struct{}{}
	b.worker.SetTarget(t.Name, branch.TargetSettings{Folder: t.Folder, Idle: t.Idle, Max: t.Max})
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

// remove ends a target, and its branch worker when it was the last one there. The caller holds the lock.
func (m *Mirror) remove(name types.NamespacedName, r *running) {
	r.cancel()
	delete(m.targets, name)
	b := m.branches[r.key]
	b.worker.RemoveTarget(name)
	delete(b.targets, name)
	if len(b.targets) == 0 {
		b.cancel()
		delete(m.branches, r.key)
	}
}

// branch returns the worker of a branch, and starts it when there is none. The caller holds the lock.
func (m *Mirror) branch(key branchKey) (*owned, error) {
	if b := m.branches[key]; b != nil {
		return b, nil
	}
	repo, err := m.repository(key.repoKey)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(m.ctx)
	b := &owned{cancel: cancel, targets: map[types.NamespacedName]struct{}{}}
	b.worker = branch.New(branch.Options{
		Repository: repo,
		Planner:    m.index,
		Branch:     key.branch,
		Committer:  gitstore.Signature{Name: key.committer.Name, Email: key.committer.Email},
		Poll:       m.opts.Poll,
		OnChange:   func() { m.branchChanged(b) },
	})
	m.branches[key] = b
	m.wg.Go(func() {
		if err := b.worker.Run(ctx); err != nil {
			m.opts.Log.Error(err, "branch worker ended", "branch", key.branch, "provider", key.provider)
		}
	})
	return b, nil
}

// repository opens a repository once; it is kept, so that a worker that still ends and its successor share it. The
// caller holds the lock.
func (m *Mirror) repository(key repoKey) (*gitstore.Repository, error) {
	if repo := m.repos[key]; repo != nil {
		return repo, nil
	}
	sum := sha256.Sum256([]byte(key.provider.String()))
	repo, err := gitstore.Open(filepath.Join(m.opts.DataDir, hex.EncodeToString(sum[:12])), key.url, gitstore.Options{
		Credentials: func(ctx context.Context) (gitstore.Credentials, error) { return m.opts.Credentials(ctx, key.provider) },
	})
	if err != nil {
		return nil, fmt.Errorf("open the repository of GitProvider %s: %w", key.provider, err)
	}
	m.repos[key] = repo
	return repo, nil
}

// Probe asks the server of a provider whether it shows the repository at url; its errors are gitstore's.
func (m *Mirror) Probe(ctx context.Context, provider types.NamespacedName, url string) error {
	m.mu.Lock()
	repo, err := m.repository(repoKey{provider, url})
	m.mu.Unlock()
	if err != nil {
		return err
	}
	return repo.Probe(ctx)
}

// branchChanged is called by a worker. It must not wait for the lock that Set holds while it talks to the worker.
func (m *Mirror) branchChanged(b *owned) {
	for name := range b.worker.Snapshot().Targets {
		m.news.add(name)
	}
}

// names returns every target.
func (m *Mirror) names() []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.targets))
}
