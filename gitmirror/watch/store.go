package watch

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// states is the last known state of every object of a stream, and the judge of what a new one means. It is no more than
// data: whoever holds it sees to the locking.
type states struct {
	synced bool
	known  map[types.UID]*unstructured.Unstructured
}

// set takes the state of an object that is there and returns what it means; false: nothing new.
func (s *states) set(obj *unstructured.Unstructured) (Event, bool) {
	old := s.known[obj.GetUID()]
	s.known[obj.GetUID()] = obj
	switch {
	case old == nil:
		return Event{Type: Added, New: obj}, true
	case old.GetResourceVersion() == obj.GetResourceVersion():
		return Event{}, false
	}
	return Event{Type: Modified, Old: old, New: obj}, true
}

// remove takes note that an object is gone; false: it was not known.
func (s *states) remove(uid types.UID) (Event, bool) {
	old := s.known[uid]
	delete(s.known, uid)
	return Event{Type: Deleted, Old: old}, old != nil
}

// replace takes the states of all objects there are and returns what that means: deletions first, so that an object made
// again under its name comes after the one it replaces, each part by namespace and name.
func (s *states) replace(objects []*unstructured.Unstructured) []Event {
	slices.SortFunc(objects, byName)
	there := make(map[types.UID]bool, len(objects))
	for _, obj := range objects {
		there[obj.GetUID()] = true
	}
	var gone []*unstructured.Unstructured
	for uid, old := range s.known {
		if !there[uid] {
			gone = append(gone, old)
		}
	}
	slices.SortFunc(gone, byName)

	var events []Event
	for _, old := range gone {
		e, _ := s.remove(old.GetUID())
		e.Replayed = true
		events = append(events, e)
	}
	for _, obj := range objects {
		e, ok := s.set(obj)
		if !ok {
			continue
		}
		e.Replayed = s.synced
		if !s.synced {
			e.Type = Initial
		}
		events = append(events, e)
	}
	s.synced = true
	return events
}

// snapshot returns the known objects as one sees them who begins now.
func (s *states) snapshot() []Event {
	events := make([]Event, 0, len(s.known))
	for _, obj := range s.known {
		events = append(events, Event{Type: Initial, New: obj})
	}
	slices.SortFunc(events, func(a, b Event) int { return byName(a.New, b.New) })
	return events
}

func byName(a, b *unstructured.Unstructured) int {
	return cmp.Or(
		cmp.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(a.GetName(), b.GetName()),
		cmp.Compare(a.GetUID(), b.GetUID()),
	)
}

// object returns what client-go hands over as an object with a uid, and an error for anything else.
func object(v any) (*unstructured.Unstructured, error) {
	obj, ok := v.(*unstructured.Unstructured)
	if !ok || obj == nil || obj.Object == nil || obj.GetUID() == "" {
		return nil, fmt.Errorf("a %T without a uid cannot be followed", v)
	}
	return obj, nil
}
