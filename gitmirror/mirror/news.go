package mirror

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// news collects the names of targets that somebody should look at. Adding never waits; a name added again before it was
// told is told once.
type news struct {
	mu    sync.Mutex
	names map[types.NamespacedName]struct{}
	all   bool
	some  chan struct{}
}

func newNews() *news {
	return &news{names: map[types.NamespacedName]struct{}{}, some: make(chan struct{}, 1)}
}

// add adds a name; without one somebody only looks.
func (n *news) add(name *types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name != nil {
		n.names[*name] = struct{}{}
	}
	n.wake()
}

// addAll adds every target there is when it is told.
func (n *news) addAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = true
	n.wake()
}

// wake leaves one token for tell. The caller holds the lock.
func (n *news) wake() {
	select {
	case n.some <- struct{}{}:
	default:
	}
}

// tell calls to with what has gathered until ctx is done.
func (n *news) tell(ctx context.Context, to func(names map[types.NamespacedName]struct{}, all bool)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.some:
		}
		n.mu.Lock()
		names, all := n.names, n.all
		n.names, n.all = map[types.NamespacedName]struct{}{}, false
		n.mu.Unlock()
		to(names, all)
	}
}
