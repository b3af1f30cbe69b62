package start

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is a kind that a holder reads from a cache.
type Kind struct {
	Name   string        // for people, in the plural
	Object client.Object // empty, of the type the cache keeps
}

// Caches knows which caches are not filled yet, and what keeps them from it. The zero Caches waits for none. Its methods may
// be called from any goroutine.
type Caches struct {
	mu     sync.Mutex
	wanted []wanted
	failed map[string]error // by the type a reflector names
}

type wanted struct {
	Kind
	filled func() bool
}

// WatchFailed keeps why a kind could not be read, and logs it as it is logged anyhow. It is for
// cache.Options.DefaultWatchErrorHandler.
func (c *Caches) WatchFailed(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]error{}
	}
	c.failed[r.TypeDescription()] = err
}

// Want has informers keep every one of the kinds, which an API server that does not know one of them makes an error. Nothing
// is read before the informers are started, which then fill all of these before anything else of their manager runs.
func (c *Caches) Want(ctx context.Context, informers cache.Informers, kinds ...Kind) error {
	for _, k := range kinds {
		informer, err := informers.GetInformer(ctx, k.Object, cache.BlockUntilSynced(false))
		if err != nil {
			if apimeta.IsNoMatchError(err) {
				err = fmt.Errorf("the cluster has no such kind; install the CustomResourceDefinitions of Holdfast and of Flux: %w", err)
			}
			return fmt.Errorf("watch %s: %w", k.Name, err)
		}
		c.mu.Lock()
		c.wanted = append(c.wanted, wanted{k, informer.HasSynced})
		c.mu.Unlock()
	}
	return nil
}

// Waits returns which kinds are not read yet, each with the last reason why, as one error of one line.
func (c *Caches) Waits() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var said []string
	refused := false
	for _, w := range c.wanted {
		if w.filled() {
			continue
		}
		err := c.failed[fmt.Sprintf("%T", w.Object)]
		if err == nil {
			said = append(said, w.Name+" are not read yet")
			continue
		}
		refused = refused || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		said = append(said, fmt.Sprintf("%s cannot be read: %v", w.Name, err))
	}
	if len(said) == 0 {
		return errors.New("every kind is read, and the holder is about to begin")
	}
	text := strings.Join(said, "; ")
	if refused {
		text = "bind the ClusterRole holdfast-holder, and its Role of the same name, to this pod's ServiceAccount: " + text
	}
	return errors.New(text)
}
