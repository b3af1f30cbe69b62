package hold

import (
	"fmt"
	"strings"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// A trigger that leaves while another waits in line hands the Kustomization to that one instead of back. It stays suspended
// all the while, so that nothing is applied in between that nobody asked for. The one that leaves stays until its heir has
// adopted: were the heir deleted before, nobody else would hand back what is suspended.

// heir returns the trigger that is next in line after this one, which leaves; nil when nobody waits.
func (s Seen) heir() *Seen {
	var next *Seen
	for i := range s.Others {
		if o := &s.Others[i]; o.mayInherit() && (next == nil || o.before(*next)) {
			next = o
		}
	}
	return next
}

// mayInherit says that the trigger is not leaving itself, and may hold.
func (s Seen) mayInherit() bool {
	return s.Trigger.DeletionTimestamp.IsZero() && !s.unreferenced() && s.unfit() == nil
}

// bequeath makes the heir the holder.
func (s Seen) bequeath(heir Seen, r report) Action {
	t := heir.Trigger
	return Action{
		Verb:    Suspend,
		HeldBy:  heir.HeldBy(),
		Token:   s.FreshToken,
		Guarded: true,
		Reason:  v1alpha1.ReasonReleasing,
		Status:  s.status(r),
		Again:   true,
		Event: &Event{
			Reason:  v1alpha1.ReasonReleased,
			Message: fmt.Sprintf("Kustomization %s stays suspended and is held by FluxTrigger %s/%s from here", s.applier(), t.Namespace, t.Name),
		},
	}
}

// bequeathed says that an heir is named and has not adopted yet.
func (s Seen) bequeathed() bool {
	o := s.named()
	return o != nil && !o.adopted() && o.mayInherit()
}

// unclaimed says that the Kustomization names a trigger of this cluster that is not there any more, or that leaves and
// never adopted. Whoever handed it to that one has it back.
func (s Seen) unclaimed() bool {
	by := ownership.Holder(s.Kustomization)
	if !strings.HasPrefix(by, s.ClusterUID+"/") || by == s.HeldBy() {
		return false
	}
	o := s.named()
	return o == nil || !o.adopted() && !o.mayInherit()
}

// named returns the other trigger that the Kustomization names as its holder, or nil.
func (s Seen) named() *Seen {
	if s.Kustomization == nil {
		return nil
	}
	by := ownership.Holder(s.Kustomization)
	for i := range s.Others {
		if s.Others[i].HeldBy() == by {
			return &s.Others[i]
		}
	}
	return nil
}
