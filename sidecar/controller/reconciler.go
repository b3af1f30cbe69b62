package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/sidecar/applier"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

const (
	// maxPasses bounds how often one call decides again because the world moved under it.
	maxPasses = 8

	// breather is how long a trigger rests that moved in every pass.
	breather = 200 * time.Millisecond
)

// Reconciler drives FluxTriggers. All fields are required.
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
}

// Reconcile takes one trigger as far as it goes without waiting.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	reader, live := client.Reader(r.Client), false
	var moved error
	for range maxPasses {
		seen, err := r.observe(ctx, req.NamespacedName, reader)
		if err != nil {
			return ctrl.Result{}, err
		}
		act := hold.Decide(seen)
		if !writes(seen, act) {
			return ctrl.Result{RequeueAfter: act.Recheck}, nil
		}
		if !live {
			reader, live = r.Live, true
			continue
		}
		err = r.perform(ctx, seen, act)
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
	log.FromContext(ctx).V(1).Info("still moving", "trigger", req.String(), "passes", maxPasses, "last", fmt.Sprint(moved))
	return ctrl.Result{RequeueAfter: breather}, nil
}

// writes says that the action changes anything.
func writes(s hold.Seen, a hold.Action) bool {
	return a.Verb != hold.Wait || changes(s, a)
}

// isMoved says that a write found the object not as it was read.
func isMoved(err error) bool {
	return errors.Is(err, applier.ErrMoved) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
