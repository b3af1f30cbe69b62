package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
)

// patience is how long a branch without a target goes on trying to push what was decided for one. Somebody deleted the
// target, and perhaps the GitProvider and its Secret as well: then it can never succeed.
const patience = time.Hour

// repoKey names a repository as one provider reaches it: two providers share nothing, not even the objects on disk, so
// that nobody writes with somebody else's credentials.
type repoKey struct {
	provider types.NamespacedName
	url      string
}

// branchKey names what one branch worker owns: a branch of the repository of a provider, whatever its address is now.
type branchKey struct {
	provider types.NamespacedName
	branch   string
}

// owned is a branch worker and the targets that write through it.
type owned struct {
	url     string
	worker  *branch.Worker
	cancel  context.CancelFunc
	targets map[types.NamespacedName]struct{}
	left    time.Time // when the newest target was removed
}

// branch returns the worker of a branch, and starts it when there is none. One that writes to another address than url
// goes over to it with all that waits. The caller holds the lock.
func (m *Mirror) branch(key branchKey, url string) (*owned, error) {
	b := m.branches[key]
	if b != nil && b.url == url {
		return b, nil
	}
	repo, err := m.repository(repoKey{key.provider, url})
	if err != nil {
		return nil, err
	}
	counted := countedPushes{repo, m.opts.Metrics}
	if b != nil {
		b.url = url
		b.worker.SetRepository(counted)
		return b, nil
	}
	ctx, cancel := context.WithCancel(m.ctx)
	b = &owned{url: url, cancel: cancel, targets: map[types.NamespacedName]struct{}{}}
	b.worker = branch.New(branch.Options{
		Repository: counted,
		Planner:    m.index,
		Branch:     key.branch,
		Poll:       m.opts.Poll,
		OnChange:   func() { m.branchChanged(b) },
	})
	m.branches[key] = b
	m.workers.Go(func() {
		if err := b.worker.Run(ctx); err != nil {
			m.opts.Log.Error(err, "branch worker ended", "branch", key.branch, "provider", key.provider)
		}
	})
	return b, nil
}

// reap ends the branch workers that have no target and nothing left to push, or have had none for too long.
func (m *Mirror) reap(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, b := range m.branches {
		if len(b.targets) == 0 && (len(b.worker.Snapshot().Targets) == 0 || now.Sub(b.left) > patience) {
			b.cancel()
			delete(m.branches, key)
		}
	}
}

// repository opens a repository once; it is kept, so that workers share it. The caller holds the lock.
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
	m.news.add(nil) // a branch that has become empty is reaped
	for name := range b.worker.Snapshot().Targets {
		m.news.add(&name)
	}
}
