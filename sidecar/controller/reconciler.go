package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
	"github.com/holdfast-gitops/holdfast/sidecar/leader"
)

// maxPasses bounds how often one call decides again because the world moved under it.
const maxPasses = 8

// blindAfter is after how many passes a suspend is sent whatever the Kustomization has become since it was read. Until then
// one that was overtaken is refused, and what overtook it is read: a resume that nobody saw could not be laid to anybody.
const blindAfter = 5

// errStillMoving makes a trigger that moved in every pass wait as long as any other failure: what looks like a move may be
// a write the server will never take.
var errStillMoving = errors.New("every write found its object changed; trying again later")

// Reconciler drives FluxTriggers. All fields but Notify are required.
type Reconciler struct {
	// Client writes, and reads from the cache.
	Client client.Client

	// Live reads from the API server.
	Live client.Reader

	// Applier holds and resumes.
	Applier applier.Applier

	// ClusterUID is the uid of the namespace kube-system, which tells clusters apart.
	ClusterUID string

	// Now returns the time.
	Now func() time.Time

	// NewToken returns a token that was never used.
	NewToken func() string

	// Metrics counts what happened.
	Metrics *Metrics

	// Notify hears of every transition. nil: nobody does.
	Notify Notifier

	// Leader says which kustomize-controller leads.
	Leader Leader

	// Shard selects the Kustomizations that the controller of this pod looks at.
	Shard labels.Selector

	// Watched is the only namespace whose Kustomizations that controller looks at; "": it looks at those of all.
	Watched string

	// CancelsHealthChecks: that controller runs with its feature gate CancelHealthCheckOnNewRevision.
	CancelsHealthChecks bool

	// Namespace is where that controller runs.
	Namespace string

	// Heartbeat is namespace and name of this holder's own Lease.
	Heartbeat string

	memory memory
}

// Leader says which kustomize-controller leads.
type Leader interface {
	// State is what was seen last.
	State() leader.State

	// Look sees anew, through live.
	Look(ctx context.Context, live client.Reader) error
}

// Reconcile takes one trigger as far as it goes without waiting.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	live := false
	var moved error
	var seen hold.Seen
	var act hold.Action
	for pass := range maxPasses {
		var err error
		if seen, err = r.observe(ctx, req.NamespacedName, live); err != nil {
			return ctrl.Result{}, err
		}
		act = hold.Decide(seen)
		if !writes(seen, act) {
			r.follow(seen, act)
			return ctrl.Result{RequeueAfter: act.Recheck}, nil
		}
		if !live {
			live = true
			continue
		}
		if act.Verb == hold.Resume {
			r.follow(seen, act) // from here on somebody must suspend it, also when the status is not written
		}
		act.Guarded = act.Guarded || act.Verb == hold.Suspend && pass < blindAfter
		err = r.perform(ctx, seen, act)
		if err != nil && !isMoved(err) {
			return ctrl.Result{}, errors.Join(err, r.denied(ctx, seen, act, err))
		}
		if err == nil {
			err = r.report(ctx, seen, act)
		}
		switch {
		case isMoved(err):
			moved = err
		case err != nil:
			return ctrl.Result{}, err
		case !act.Again:
			return ctrl.Result{RequeueAfter: act.Recheck}, nil
		}
	}
	err := errors.Join(errStillMoving, moved)
	return ctrl.Result{}, errors.Join(err, r.denied(ctx, seen, act, err)) // a hand-back ends also by what no read cures
}

// follow notes that this process follows the operation in flight. A pass that is to find out that nobody did must not have
// noted it before, nor may the same decision on the cache.
func (r *Reconciler) follow(s hold.Seen, a hold.Action) {
	if s.Trigger != nil && a.Reason != v1alpha1.ReasonStandby {
		r.memory.follow(s.Trigger.UID, s.Trigger.Status.Operation)
	}
}

// denied says in the status, and does, what follows from an effect the server refused; what follows may be refused as well.
// The caller tries again later.
func (r *Reconciler) denied(ctx context.Context, s hold.Seen, a hold.Action, why error) error {
	var err error
	for range 2 {
		refused := apierrors.IsForbidden(why) || apierrors.IsInvalid(why) // by the role, or by an admission policy
		a = hold.Denied(s, a, why.Error(), refused)
		if !writes(s, a) {
			return err
		}
		a.Guarded = a.Guarded || a.Verb == hold.Suspend // it follows on what was read before
		if err = r.perform(ctx, s, a); err == nil {
			return r.report(ctx, s, a)
		}
		why = err
	}
	return err
}

// writes says that the action changes anything.
func writes(s hold.Seen, a hold.Action) bool {
	return a.Verb != hold.Wait || changes(s, a)
}

// isMoved says that a write found the object not as it was read. A conflict about who owns a field is none of these: it
// comes back however often the object is read, until somebody gives the field up.
func isMoved(err error) bool {
	return errors.Is(err, applier.ErrMoved) || apierrors.IsNotFound(err) ||
		apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}
