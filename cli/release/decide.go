package release

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

const (
	// HolderActs is how long a holder has to show that it is at the hand-back.
	HolderActs = 5 * time.Second
	// controllerHandles is how long kustomize-controller has to take note of a suspend; it may not run.
	controllerHandles = 10 * time.Second
)

// Verb is what is done next.
type Verb string

// What may be done. The zero Verb waits.
const (
	Wait    Verb = ""
	Delete  Verb = "delete the trigger"
	Suspend Verb = "suspend the Kustomization"
	Release Verb = "resume the Kustomization and give it up"
	GiveUp  Verb = "give the Kustomization up"
	Thaw    Verb = "let the GitRepository go"
	LetGo   Verb = "take the finalizer off the trigger"
	Done    Verb = "done"
	Stop    Verb = "stop" // it cannot go on; Why says what a person can do
)

// Action is what is done next, and why it cannot go on.
type Action struct {
	Verb Verb
	Why  string
}

// Seen is everything Decide may look at: one trigger, or a Kustomization whose trigger is gone.
type Seen struct {
	Now           time.Time
	Trigger       *v1alpha1.FluxTrigger      // nil: it is gone
	TriggerUID    string                     // of the trigger, also when that is gone; empty: any that is gone
	Orphan        bool                       // the trigger says, or said, spec.onDelete: Orphan
	Kustomization *kustomizev1.Kustomization // nil: it is gone
	Source        *sourcev1.GitRepository    // one that may be frozen for an operation; nil: none

	DeletedAt time.Time // when this run saw the trigger being deleted first
	Moved     bool      // the trigger has changed since, and not by this run: a holder is at it
	Deadline  time.Time // until then such a holder may take its time

	SuspendedAt time.Time // when this run suspended the Kustomization; zero: it did not
	Token       string    // of that suspend
}

// Decide returns the next step. First matching rule wins.
func Decide(s Seen) Action {
	t, k := s.Trigger, s.Kustomization
	switch {
	case t == nil && !s.marked() && !s.frozen():
		return Action{Verb: Done}
	case t != nil && t.DeletionTimestamp.IsZero():
		return Action{Verb: Delete}
	case t != nil && s.holderMayAct():
		return Action{}
	case s.frozen():
		return Action{Verb: Thaw}
	case !s.marked():
		return s.letGo()
	case s.Orphan && !k.DeletionTimestamp.IsZero():
		return s.orphan()
	case ownership.Applier(k) != "" || !ownership.Suspend(k):
		return Action{Verb: GiveUp} // whoever says whether it runs goes on to say so
	case s.Token == "" && k.DeletionTimestamp.IsZero() && !k.Spec.Suspend:
		return Action{Verb: Suspend} // a holder resumed it for an operation that nobody follows now
	case s.awaitsController():
		return Action{}
	}
	return Action{Verb: Release}
}

// marked says that the Kustomization carries something of this trigger's hold.
func (s Seen) marked() bool {
	k := s.Kustomization
	if k == nil {
		return false
	}
	if by := ownership.Holder(k); by != "" && s.TriggerUID != "" {
		return strings.HasSuffix(by, "/"+s.TriggerUID)
	}
	return Carries(k)
}

// Carries says that k carries something of a hold, whosever it is.
func Carries(k *kustomizev1.Kustomization) bool {
	return ownership.Holder(k) != "" || ownership.Suspend(k) || ownership.Finalized(k)
}

// frozen says that a holder keeps the source from fetching, for an operation that nobody follows now.
func (s Seen) frozen() bool { return s.Source != nil && ownership.Suspend(s.Source) }

// holderMayAct says that it is the holder's turn: for a moment, to show that there is one; then until the deadline.
func (s Seen) holderMayAct() bool {
	if s.Moved {
		return s.Now.Before(s.Deadline)
	}
	return s.Now.Before(s.DeletedAt.Add(HolderActs))
}

// letGo ends with the trigger once there is nothing left to hand back.
func (s Seen) letGo() Action {
	if slices.Contains(s.Trigger.Finalizers, v1alpha1.HoldFinalizer) {
		return Action{Verb: LetGo}
	}
	if len(s.Trigger.Finalizers) == 0 {
		return Action{} // it goes in this very moment
	}
	return Action{Verb: Stop, Why: fmt.Sprintf("nothing is held any more, but the trigger stays: it has finalizers of others (%s); see to it that they are taken off",
		strings.Join(s.Trigger.Finalizers, ", "))}
}

// orphan leaves in place what a Kustomization applied that is being deleted: kustomize-controller lets go of it without
// pruning as long as it is suspended, so it is given up only after that.
func (s Seen) orphan() Action {
	if !slices.Contains(s.Kustomization.Finalizers, kustomizev1.KustomizationFinalizer) {
		return Action{Verb: GiveUp}
	}
	if s.Now.Before(s.Deadline) {
		return Action{}
	}
	return Action{Verb: Stop, Why: "the Kustomization is being deleted and spec.onDelete says that what it applied stays, " +
		"for which kustomize-controller must let go of it first; start it and run this again"}
}

// awaitsController says that kustomize-controller has not noted this run's suspend yet, and may.
func (s Seen) awaitsController() bool {
	return s.Token != "" && s.Kustomization.Status.LastHandledReconcileAt != s.Token && s.Now.Before(s.SuspendedAt.Add(controllerHandles))
}

// Outcome says for a person how k is left, which is nil when it is gone.
func Outcome(name string, k *kustomizev1.Kustomization) string {
	switch {
	case k == nil:
		return fmt.Sprintf("Kustomization %s is gone", name)
	case !k.Spec.Suspend:
		return fmt.Sprintf("Kustomization %s is handed back and applies on its own", name)
	}
	by := "nobody who is known"
	if others := ownership.Others(k); len(others) > 0 {
		names := make([]string, len(others))
		for i, o := range others {
			names[i] = o.String()
		}
		by = strings.Join(names, ", ")
	}
	return fmt.Sprintf("Kustomization %s is handed back and stays suspended by %s", name, by)
}
