package flux

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// queue is controller-runtime's priority queue as far as it can be told: one item a key, ready at the earliest time anybody
// asked for, and never handed out while the key is worked on.
type queue struct {
	due      map[types.NamespacedName]time.Time
	failures map[types.NamespacedName]int
}

func newQueue() *queue {
	return &queue{due: map[types.NamespacedName]time.Time{}, failures: map[types.NamespacedName]int{}}
}

// add makes the key due at the time, or earlier when it already is.
func (q *queue) add(key types.NamespacedName, at time.Time) {
	if was, there := q.due[key]; !there || at.Before(was) {
		q.due[key] = at
	}
}

// backoff is what the rate limiter of Flux's controllers waits (fluxcd/pkg/runtime/controller/rate_limiter.go).
func (q *queue) backoff(key types.NamespacedName) time.Duration {
	d := min(750*time.Millisecond<<min(q.failures[key], 20), 15*time.Minute)
	q.failures[key]++
	return d
}

// forget ends a series of failures.
func (q *queue) forget(key types.NamespacedName) { delete(q.failures, key) }

// take hands the key out.
func (q *queue) take(key types.NamespacedName) { delete(q.due, key) }

// keys returns what is queued, in order of names.
func (q *queue) keys() []types.NamespacedName {
	all := make([]types.NamespacedName, 0, len(q.due))
	for k := range q.due {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
