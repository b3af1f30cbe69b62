package hold

import (
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Seen is everything Decide may look at. The shell gathers it once per pass, uncached where a write follows.
type Seen struct {
	Now           time.Time                  // UTC, read once
	FreshToken    string                     // never used before; at most one write of a pass carries it
	ClusterUID    string                     // uid of the namespace kube-system
	Trigger       *v1alpha1.FluxTrigger      // nil: gone
	KubeProvider  *v1alpha1.KubeProvider     // nil: none of that name
	Admitted      bool                       // the KubeProvider admits the trigger's namespace
	Kustomization *kustomizev1.Kustomization // nil: gone
	GitRepository *sourcev1.GitRepository    // nil: gone, or the Kustomization names another kind of source
	Binding       binding.Verdict

	// Others are the other triggers that name the same Kustomization, each with what it takes to know whether it may hold.
	Others []Seen

	// SourceBusy names the trigger whose operation uses the same source now; empty: none does.
	SourceBusy string

	// Frozen is the GitRepository that the operation in flight has suspended; nil: it is gone, or none is.
	Frozen *sourcev1.GitRepository

	// Waited is how long this process has seen the newest token on the Kustomization unhandled; 0: it is handled.
	Waited time.Duration

	// Followed: this process has followed the operation in flight before.
	Followed bool

	Controller Controller
}

// Controller is what is known of the kustomize-controller in this pod, and of the one that leads.
type Controller struct {
	// Leads: the one in this pod leads, or there is no leader election.
	Leads bool

	// Elsewhere: the one in this pod does not look at this Kustomization, by its label selector or its namespace.
	Elsewhere bool

	// Leader is the process that leads, as its Lease names it; without leader election, this pod.
	Leader string

	// LedFor is how long this process has seen that one lead, by its own clock.
	LedFor time.Duration

	// Lease is how long a leader that was lost may believe that it still leads; 0 without leader election.
	Lease time.Duration

	// Namespace is where it runs.
	Namespace string

	// CancelsHealthChecks: it gives up waiting for health when anything about a Kustomization changes, a suspend included
	// (its feature gate CancelHealthCheckOnNewRevision).
	CancelsHealthChecks bool

	// Heartbeat is namespace and name of the Lease by which this holder shows that it is alive.
	Heartbeat string
}

// HeldBy returns the value of the held-by annotation that says this trigger holds.
func (s Seen) HeldBy() string { return s.ClusterUID + "/" + string(s.Trigger.UID) }

// adopted says that the trigger has begun to hold and has not ended.
func (s Seen) adopted() bool { return slices.Contains(s.Trigger.Finalizers, v1alpha1.HoldFinalizer) }

// HoldsNothing says that the trigger of s has nothing to look after: neither its finalizer, which somebody may have taken
// away, nor its status speaks of an applier, nor does the applier carry anything of a hold that may be this trigger's.
func HoldsNothing(s Seen) bool {
	c := status.Get(s.Trigger.Status.Conditions, v1alpha1.ConditionHeld)
	return !s.adopted() && !s.inFlight() && !s.marked() && (c == nil || c.Reason == string(v1alpha1.ReasonNotReferenced))
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
	return s.Kustomization != nil && ownership.Holder(s.Kustomization) == s.HeldBy()
}

// suspendedByUs says that the Kustomization carries our whole hold, handled or not, and that it was not resumed since. The
// finalizer is a part of it: kustomize-controller writes the list of finalizers from its cache, and may wipe ours. A
// Kustomization that is being deleted takes no finalizer any more, so there its absence says nothing.
func (s Seen) suspendedByUs() bool {
	k := s.Kustomization
	return s.heldByUs() && k.Spec.Suspend && ownership.Suspend(k) && requested(k) != "" && (ownership.Finalized(k) || !k.DeletionTimestamp.IsZero())
}

// held says that the applier applies nothing on its own: our hold is there, and the controller has seen it.
func (s Seen) held() bool {
	return s.suspendedByUs() && s.Kustomization.Status.LastHandledReconcileAt == requested(s.Kustomization)
}

// wasHeld says that the Kustomization there is now was found held before, and not handed back since.
func (s Seen) wasHeld() bool {
	rest := s.Trigger.Status.AtRest
	return rest != nil && s.Kustomization != nil && rest.ApplierUID == string(s.Kustomization.UID)
}

// resumedElsewhere says that somebody else resumed a Kustomization of ours, also when they have suspended it again: a run
// may have begun between the two.
func (s Seen) resumedElsewhere() bool {
	k := s.Kustomization
	switch {
	case k == nil || ownership.Suspend(k):
		return false
	case !s.heldByUs() && ownership.Holder(k) != "":
		return false // another trigger's is for that one to take back
	case !k.Spec.Suspend:
		return s.heldByUs() || s.wasHeld()
	case s.inFlight() && s.mayHaveResumed():
		return false // and they only suspended it
	}
	return s.wasHeld()
}

// mayHaveResumed says that the operation in flight may have resumed the Kustomization, and that no suspend was sent for it:
// neither does the record know of one, nor is one of a holder the newest token on the Kustomization.
func (s Seen) mayHaveResumed() bool {
	op, k := s.Trigger.Status.Operation, s.Kustomization
	switch {
	case op.SuspendToken != "":
		return false
	case requested(k) == op.Token:
		return true
	}
	return op.Phase != v1alpha1.OperationRequested && ownership.Token(k) == ""
}

// marked says that the Kustomization still carries something of our hold, so that leaving must hand it back.
func (s Seen) marked() bool {
	k := s.Kustomization
	if k == nil {
		return false
	}
	if by := ownership.Holder(k); by != "" {
		return by == s.HeldBy() || s.leaving() && s.adopted() && s.unclaimed()
	}
	return (s.adopted() || s.wasHeld() || s.alone()) && (ownership.Suspend(k) || ownership.Finalized(k))
}

// alone says that no other trigger holds the Kustomization or has held it, so that what a holder left on it is this one's.
func (s Seen) alone() bool {
	return !slices.ContainsFunc(s.Others, func(o Seen) bool { return o.adopted() || o.wasHeld() || o.inFlight() })
}

// untold returns whose resume the newest suspend of a holder took back, when no operation knows of that suspend: the holder
// that sent it was killed, or never had its answer.
func (s Seen) untold() string {
	token := requested(s.Kustomization)
	knows := func(op v1alpha1.Operation) bool { return op.SuspendToken == token }
	if op := s.Trigger.Status.Operation; op != nil && knows(*op) || slices.ContainsFunc(s.Trigger.Status.History, knows) {
		return ""
	}
	return ownership.ResumedBy(s.Kustomization)
}

// requested returns the newest token on the Kustomization.
func requested(k *kustomizev1.Kustomization) string {
	return k.Annotations[meta.ReconcileRequestAnnotation]
}

// Unhandled returns the newest token on k if its controller has not handled that; k may be nil.
func Unhandled(k *kustomizev1.Kustomization) string {
	if k == nil || k.Status.LastHandledReconcileAt == requested(k) {
		return ""
	}
	return requested(k)
}

// instant returns now as a status field holds it, in whole seconds.
func instant(now time.Time) metav1.Time { return metav1.NewTime(now.UTC().Truncate(time.Second)) }

// since returns how long ago at was, for deciding that something took too long. Clocks of two holders may be minutes
// apart; what is further in the future than that says nothing, and counts as for ever.
func (s Seen) since(at metav1.Time) time.Duration {
	age := s.Now.Sub(at.Time)
	if age < -maxSkew {
		return forEver
	}
	return age
}

const (
	maxSkew = 5 * time.Minute
	forEver = 365 * 24 * time.Hour
)
