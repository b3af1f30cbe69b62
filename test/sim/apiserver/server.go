package apiserver

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is one version of an object. What the server hands out is shared: read it, and copy it before changing it.
type Object = unstructured.Unstructured

// Change is one object's step from one version to the next.
type Change struct {
	Kind *Kind
	Key  types.NamespacedName
	Old  *Object // nil: it was made
	New  *Object // nil: it is gone
	By   Write
	RV   int64 // of the new version; for one that is gone, of its going
}

// Server keeps objects. The zero value is not usable; see New.
type Server struct {
	now     func() time.Time
	kinds   map[schema.GroupVersionKind]*Kind
	objects map[*Kind]map[types.NamespacedName]*Object
	history map[*Kind][]Change // all there was, for caches to follow
	rv      int64
	uids    int

	// Seen is told of each change, before the writer has its answer. May be nil.
	Seen func(Change)
}

// New returns an empty server of those kinds.
func New(now func() time.Time, kinds []Kind) *Server {
	s := &Server{now: now, kinds: map[schema.GroupVersionKind]*Kind{}, objects: map[*Kind]map[types.NamespacedName]*Object{}, history: map[*Kind][]Change{}, rv: 1}
	for i := range kinds {
		k := &kinds[i]
		s.kinds[k.GVK], s.objects[k] = k, map[types.NamespacedName]*Object{}
	}
	return s
}

// Kind returns the kind, or an error that says that the server has none of that name.
func (s *Server) Kind(gvk schema.GroupVersionKind) (*Kind, error) {
	if k := s.kinds[gvk]; k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("the simulated API server has no %s; add it to its kinds", gvk)
}

// Get returns the newest version, or a NotFound error.
func (s *Server) Get(k *Kind, key types.NamespacedName) (*Object, error) {
	if o := s.objects[k][key]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(k.GroupResource(), key.Name)
}

// List returns the newest versions of all objects of the kind, in the order of their names.
func (s *Server) List(k *Kind) []*Object { return inOrder(s.objects[k]) }

// Last returns the resourceVersion of the newest change of the kind; 0 when there is none.
func (s *Server) Last(k *Kind) int64 {
	if h := s.history[k]; len(h) > 0 {
		return h[len(h)-1].RV
	}
	return 0
}

// commit makes next the newest version, with a resourceVersion of its own, and tells of it.
func (s *Server) commit(k *Kind, key types.NamespacedName, old, next *Object, by Write) {
	s.rv++
	if next != nil {
		next.SetResourceVersion(strconv.FormatInt(s.rv, 10))
		s.objects[k][key] = next
	} else {
		delete(s.objects[k], key)
	}
	c := Change{Kind: k, Key: key, Old: old, New: next, By: by, RV: s.rv}
	s.history[k] = append(s.history[k], c)
	if s.Seen != nil {
		s.Seen(c)
	}
}

// stamp is the time as metadata holds it.
func (s *Server) stamp() metav1.Time { return metav1.NewTime(s.now().UTC().Truncate(time.Second)) }

// GroupResource names the kind in errors.
func (k *Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.GVK.Group, Resource: k.Resource}
}

// RV returns the resourceVersion of o as a number; 0 when it has none.
func RV(o *Object) int64 {
	if o == nil {
		return 0
	}
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func inOrder(objects map[types.NamespacedName]*Object) []*Object {
	all := make([]*Object, 0, len(objects))
	for _, o := range objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b *Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all
}
