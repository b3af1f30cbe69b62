package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// stream runs client-go's reflector for one scope and is the store it fills. The reflector calls the store from one
// goroutine, so events leave in the order they came in.
type stream struct {
	ctx     context.Context
	scope   Scope
	changed func(Scope)

	mu     sync.Mutex
	states states
	err    error
	subs   []*Subscription
}

var _ cache.ReflectorStore = (*stream)(nil)

func newStream(ctx context.Context, scope Scope, changed func(Scope)) *stream {
	return &stream{ctx: ctx, scope: scope, changed: changed, states: states{known: map[types.UID]*unstructured.Unstructured{}}}
}

// run follows the scope until the stream's context is done.
func (s *stream) run(client dynamic.Interface) {
	resource := client.Resource(s.scope.Resource).Namespace(s.scope.Namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := resource.List(ctx, o)
			if err != nil {
				s.report("list", err)
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := resource.Watch(ctx, o)
			if ctx.Err() != nil {
				return apiwatch.NewFake(), nil // the end of a stream is no error to log
			}
			s.report("watch", err)
			return w, err
		},
	}
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), &unstructured.Unstructured{}, s, cache.ReflectorOptions{
		Name:            s.scope.String(),
		TypeDescription: s.scope.Resource.String(),
		Backoff:         &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 7, Cap: 10 * time.Second},
	}).RunWithContext(s.ctx)
}

// report takes how a request ended. Only a watch that opened clears an error: being allowed to list is not enough.
func (s *stream) report(verb string, err error) {
	if s.ctx.Err() != nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", verb, s.scope, err)
	}
	s.mu.Lock()
	news := (s.err == nil) != (err == nil) || err != nil && s.err.Error() != err.Error()
	s.err = err
	s.mu.Unlock()
	if news {
		s.changed(s.scope)
	}
}

func (s *stream) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Status{Synced: s.states.synced, Err: s.err}
}

// Add implements cache.ReflectorStore.
func (s *stream) Add(v any) error { return s.Update(v) }

// Update implements cache.ReflectorStore. What cannot be followed is in the Status and no error here: client-go would
// log the object.
func (s *stream) Update(v any) error {
	obj, err := object(v)
	if err != nil {
		s.report("watch", err)
		return nil
	}
	s.fold(func() []Event { return some(s.states.set(obj)) })
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *stream) Delete(v any) error {
	obj, err := object(v)
	if err != nil {
		s.report("watch", err)
		return nil
	}
	s.fold(func() []Event { return some(s.states.remove(obj.GetUID())) })
	return nil
}

// Replace implements cache.ReflectorStore. A list with something that cannot be followed is refused as a whole: taken
// in part, it would look like deletions.
func (s *stream) Replace(list []any, _ string) error {
	objects := make([]*unstructured.Unstructured, 0, len(list))
	for _, v := range list {
		obj, err := object(v)
		if err != nil {
			s.report("list", err)
			return err
		}
		objects = append(objects, obj)
	}
	s.fold(func() []Event { return s.states.replace(objects) })
	return nil
}

// Resync implements cache.ReflectorStore; no resync is asked for.
func (s *stream) Resync() error { return nil }

// fold changes the states and hands on what came of it to those who subscribed before. Whoever subscribes later has it
// in the snapshot. The sends block, and so does the reflector: that is the pressure back on the API server.
func (s *stream) fold(change func() []Event) {
	s.mu.Lock()
	synced := s.states.synced
	events := change()
	news := synced != s.states.synced
	subs := slices.Clone(s.subs)
	s.mu.Unlock()
	if news {
		s.changed(s.scope)
	}
	for _, e := range events {
		for _, sub := range subs {
			select {
			case sub.events <- e:
			case <-sub.closed:
			case <-s.ctx.Done():
				return
			}
		}
	}
}

func some(e Event, ok bool) []Event {
	if !ok {
		return nil
	}
	return []Event{e}
}
