package apiserver

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// Cache is what an informer knows: each kind as it was at some change, which is the newest only when it was told so.
type Cache struct {
	server *Server
	at     map[*Kind]int // how many changes of the kind it has taken in
	have   map[*Kind]map[types.NamespacedName]*Object
	kinds  []*Kind
}

// NewCache returns a cache of the kinds as they are now. The changes that come after are taken in by Advance.
func (s *Server) NewCache(kinds ...*Kind) *Cache {
	c := &Cache{server: s, at: map[*Kind]int{}, have: map[*Kind]map[types.NamespacedName]*Object{}, kinds: kinds}
	for _, k := range kinds {
		c.have[k] = map[types.NamespacedName]*Object{}
		c.at[k] = len(s.history[k])
		for key, o := range s.objects[k] {
			c.have[k][key] = o
		}
	}
	return c
}

// Kinds returns what is cached, in the order it was asked for.
func (c *Cache) Kinds() []*Kind { return c.kinds }

// Behind returns how many changes of the kind the cache has not taken in.
func (c *Cache) Behind(k *Kind) int { return len(c.server.history[k]) - c.at[k] }

// Advance takes in the next change of the kind and returns it; false when there is none.
func (c *Cache) Advance(k *Kind) (Change, bool) {
	if c.Behind(k) == 0 {
		return Change{}, false
	}
	next := c.server.history[k][c.at[k]]
	c.at[k]++
	if next.New == nil {
		delete(c.have[k], next.Key)
	} else {
		c.have[k][next.Key] = next.New
	}
	return next, true
}

// Get returns the version the cache has, or a NotFound error.
func (c *Cache) Get(k *Kind, key types.NamespacedName) (*Object, error) {
	if o := c.have[k][key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.GroupResource(), key.Name)
}

// List returns what the cache has of the kind, in the order of the names.
func (c *Cache) List(k *Kind) []*Object { return inOrder(c.have[k]) }

// Holds says that the kind is cached.
func (c *Cache) Holds(k *Kind) bool { return slices.Contains(c.kinds, k) }
