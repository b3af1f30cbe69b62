package hold

import (
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Seen is everything Decide may look at. The shell gathers it once per pass, uncached where a write follows.
type Seen struct {
	Now           time.Time                  // UTC, read once
	FreshToken    string                     // never used before; at most one write of a pass carries it
	ClusterUID    string                     // uid of the namespace kube-system
	Trigger       *v1alpha1.FluxTrigger      // nil: gone
	KubeProvider  *v1alpha1.KubeProvider     // nil: none of that name
	Kustomization *kustomizev1.Kustomization // nil: gone
	GitRepository *sourcev1.GitRepository    // nil: gone, or the Kustomization names another kind of source
	Binding       binding.Verdict

	// OtherLives says that the trigger which held-by names, when it is not this one, exists or cannot be asked after.
	OtherLives bool
}

// HeldBy returns the value of the held-by annotation that says this trigger holds.
func (s Seen) HeldBy() string { return s.ClusterUID + "/" + string(s.Trigger.UID) }

// adopted says that the trigger has begun to hold and has not ended.
func (s Seen) adopted() bool { return hasFinalizer(s.Trigger) }

// HoldsNothing says that trigger has nothing to look after: neither its finalizer, which somebody may have taken away, nor
// its status speaks of an applier.
func HoldsNothing(trigger *v1alpha1.FluxTrigger) bool {
	s := Seen{Trigger: trigger}
	c := status.Get(trigger.Status.Conditions, v1alpha1.ConditionHeld)
	return !s.adopted() && !s.inFlight() && (c == nil || c.Reason == string(v1alpha1.ReasonNotReferenced))
}

// leaving says that the trigger has no reason to hold any more.
func (s Seen) leaving() bool {
	return !s.Trigger.DeletionTimestamp.IsZero() || s.unreferenced()
}

func (s Seen) unreferenced() bool { return s.Binding.Reason == v1alpha1.ReasonNotReferenced }

// inFlight says that an operation is recorded and not final.
func (s Seen) inFlight() bool {
	op := s.Trigger.Status.Operation
	return op != nil && !op.Phase.Final()
}

// heldByUs says that the Kustomization names this trigger as its holder.
func (s Seen) heldByUs() bool {
	return s.Kustomization != nil && HolderOf(s.Kustomization) == s.HeldBy()
}

// suspendedByUs says that the Kustomization carries our whole hold, handled or not, and that it was not resumed since.
func (s Seen) suspendedByUs() bool {
	return s.heldByUs() && s.Kustomization.Spec.Suspend && ownsSuspend(s.Kustomization) && requested(s.Kustomization) != ""
}

// held says that the applier applies nothing on its own: our hold is there, and the controller has seen it.
func (s Seen) held() bool {
	return s.suspendedByUs() && s.Kustomization.Status.LastHandledReconcileAt == requested(s.Kustomization)
}

// wasHeld says that the last status written calls the Kustomization held.
func (s Seen) wasHeld() bool {
	return status.IsTrue(s.Trigger.Status.Conditions, v1alpha1.ConditionHeld)
}

// resumedElsewhere says that somebody else resumed a Kustomization of ours, also when they have suspended it again: a run
// may have begun between the two.
func (s Seen) resumedElsewhere() bool {
	k := s.Kustomization
	switch {
	case k == nil || ownsSuspend(k):
		return false
	case !k.Spec.Suspend:
		return s.heldByUs() || s.wasHeld()
	case s.inFlight() && s.Trigger.Status.Operation.Phase != v1alpha1.OperationSettling:
		return false // we may have resumed it ourselves, and they only suspended it
	}
	return s.heldByUs() && s.wasHeld()
}

// marked says that the Kustomization still carries something of our hold, so that leaving must hand it back.
func (s Seen) marked() bool {
	k := s.Kustomization
	if k == nil {
		return false
	}
	if by := HolderOf(k); by != "" {
		return by == s.HeldBy()
	}
	return ownsSuspend(k)
}

// pending returns the request that has no answer and no operation, or nil.
func (s Seen) pending() *v1alpha1.ApplyRequest {
	st := s.Trigger.Status
	switch {
	case st.Request == nil,
		st.LastHandledRequest != nil && st.LastHandledRequest.ID == st.Request.ID,
		s.inFlight() && st.Operation.RequestID == st.Request.ID:
		return nil
	}
	return st.Request
}

// requested returns the newest token on the Kustomization.
func requested(k *kustomizev1.Kustomization) string {
	return k.Annotations[meta.ReconcileRequestAnnotation]
}

func hasFinalizer(t *v1alpha1.FluxTrigger) bool {
	for _, f := range t.Finalizers {
		if f == v1alpha1.HoldFinalizer {
			return true
		}
	}
	return false
}

// instant returns now as a status field holds it, in whole seconds.
func instant(now time.Time) metav1.Time { return metav1.NewTime(now.UTC().Truncate(time.Second)) }
