package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/apply"
)

// unsaidLease is how long a Lease lasts that does not say it.
const unsaidLease = 30 * time.Second

// Holders watches the Leases by which holders show that they are alive, and wakes the triggers of a holder when it dies or
// comes back. It writes nothing. The cache behind Client holds only Leases with the holder's label.
type Holders struct {
	client.Client
	Clock clock.PassiveClock
	// Turned wakes a trigger whose holder died or came back.
	Turned Wakes

	mu   sync.Mutex
	seen map[string]sighting // by namespace/name
}

// sighting is a Lease as it was seen last.
type sighting struct {
	spec  coordinationv1.LeaseSpec
	lease apply.Lease
	alive bool // when it was last looked at
}

// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch

// Reconcile notes what a Lease looks like now, and comes back when it is due to have been renewed.
func (h *Holders) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var l coordinationv1.Lease
	err := h.Get(ctx, req.NamespacedName, &l)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, err
	}
	now := h.Clock.Now()
	left, turned := h.note(req.String(), &l, err != nil, now)
	if turned {
		if err := h.wake(ctx, req.String()); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

// note keeps what was seen. It returns how long the Lease may stay as it is, 0 when that is over, and whether its holder
// died or came back.
func (h *Holders) note(name string, l *coordinationv1.Lease, gone bool, now time.Time) (left time.Duration, turned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen == nil {
		h.seen = map[string]sighting{}
	}
	s, known := h.seen[name]
	if gone {
		delete(h.seen, name)
		return 0, known
	}
	if !known || !equality.Semantic.DeepEqual(s.spec, l.Spec) {
		s.spec = l.Spec
		s.lease = apply.Lease{Present: true, Since: now, Lasts: lasts(l), Renewed: known}
	}
	alive := s.lease.Alive(now)
	turned, s.alive = !known || alive != s.alive, alive
	h.seen[name] = s
	return max(s.lease.Left(now), 0), turned
}

// lasts returns how long l may go without being renewed.
func lasts(l *coordinationv1.Lease) time.Duration {
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second
	}
	return unsaidLease
}

// Lease returns what was seen of the Lease of that name; nil when there is none.
func (h *Holders) Lease(name string) *apply.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.seen[name]; ok {
		return &s.lease
	}
	return nil
}

// wake has each trigger looked at that the holder with this Lease acts for.
func (h *Holders) wake(ctx context.Context, lease string) error {
	var all v1alpha1.FluxTriggerList
	if err := h.List(ctx, &all); err != nil {
		return fmt.Errorf("list FluxTriggers: %w", err)
	}
	for _, name := range namesOf(all.Items, func(t *v1alpha1.FluxTrigger) bool { return t.Status.Holder == lease }) {
		h.Turned.Wake(ctx, name)
	}
	return nil
}

// SetupWithManager registers the reconciler.
func (h *Holders) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("holders").For(&coordinationv1.Lease{}).Complete(h)
}
