package hold

import (
	"strings"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// ahead returns who goes before this trigger in the line for its Kustomization, for a person; empty when nobody does.
//
// In line are triggers that may hold it, and triggers that hold it or once began to, whatever became of their reference. An
// apply in flight goes first, then who holds, then the oldest. So nobody is displaced in the middle of anything, and of two
// that come at once the same one wins in every holder's eyes. An older trigger that may not hold keeps no younger one out.
func (s Seen) ahead() string {
	by := ownership.Holder(s.Kustomization)
	if by != "" && !strings.HasPrefix(by, s.ClusterUID+"/") {
		return "a trigger of another cluster (annotation " + v1alpha1.HeldByAnnotation + ": " + by + ")"
	}
	first := s
	for _, o := range s.Others {
		if o.inLine() && o.before(first) {
			first = o
		}
	}
	if first.Trigger.UID == s.Trigger.UID {
		return ""
	}
	return "FluxTrigger " + first.Trigger.Namespace + "/" + first.Trigger.Name
}

// inLine says that the trigger holds the Kustomization, or may.
func (s Seen) inLine() bool {
	return s.adopted() || s.Trigger.DeletionTimestamp.IsZero() && !s.unreferenced() && s.unfit() == nil
}

// before says that s goes before o.
func (s Seen) before(o Seen) bool {
	if a, b := s.place(), o.place(); a != b {
		return a < b
	}
	if a, b := s.Trigger.CreationTimestamp, o.Trigger.CreationTimestamp; !a.Equal(&b) {
		return a.Before(&b)
	}
	return s.Trigger.UID < o.Trigger.UID
}

// place returns where in the line the trigger is by what it does; less is earlier.
func (s Seen) place() int {
	switch {
	case s.inFlight():
		return 0
	case s.heldByUs():
		return 1
	}
	return 2
}
