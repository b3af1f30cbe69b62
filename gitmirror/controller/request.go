package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/apply"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// RequestReconciler writes a request on each FluxTrigger whose apply is due, and whether a holder is there to carry it out.
// It writes nothing else there. It reads from the cache: what is decided from an old trigger does not pass the write's
// resourceVersion.
type RequestReconciler struct {
	client.Client
	Mirror Mirror
	Clock  clock.PassiveClock
	// Lease returns what was seen of the holder's Lease of that name; nil: there is none.
	Lease func(name string) *apply.Lease
	NewID func() string
	// Requests counts what was asked for, as NewRequestCounter made it.
	Requests *prometheus.CounterVec

	mu     sync.Mutex
	memory map[types.NamespacedName]*remembered
}

// remembered is what is known of one trigger.
type remembered struct {
	trigger types.UID
	apply.Memory
}

// NewRequestCounter returns a counter of requests by the reason for them.
func NewRequestCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "holdfast_gitmirror_requests_total",
		Help: "Requests for an apply, by the reason for them; one made again after a failure counts again.",
	}, []string{"reason"})
}

// requested is gitmirror's whole part of a FluxTrigger's status: the one builder of it.
type requested struct {
	Request    *v1alpha1.ApplyRequest `json:"request,omitempty"`
	Conditions []metav1.Condition     `json:"conditions,omitempty"`
}

// +kubebuilder:rbac:groups=holdfast.dev,resources=fluxtriggers,verbs=get;list;watch
// +kubebuilder:rbac:groups=holdfast.dev,resources=fluxtriggers/status,verbs=get;patch

// Reconcile asks for an apply when one is due, or comes back when it may be.
func (r *RequestReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var t v1alpha1.FluxTrigger
	err := r.Get(ctx, req.NamespacedName, &t)
	if apierrors.IsNotFound(err) || err == nil && !t.DeletionTimestamp.IsZero() {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	targets, err := r.targets(ctx, &t)
	if err != nil {
		return ctrl.Result{}, err
	}
	now, branch, st := r.Clock.Now().UTC(), apply.Fold(targets), &t.Status
	lease := r.Lease(st.Holder)
	mem := r.recall(&t)
	mem.Memory = mem.Saw(*st, lease, now)
	claim := mem.Holder(*st, lease, now)
	next := requested{Request: st.Request, Conditions: conditions.Trigger(&t, claim, now)}
	d := apply.Decide(apply.Seen{
		Now:         now,
		Branch:      branch,
		Held:        status.IsTrue(st.Conditions, v1alpha1.ConditionHeld),
		Missing:     conditions.HolderMissing(next.Conditions) != nil,
		Operation:   st.Operation,
		QuietPeriod: t.Spec.QuietPeriod.Duration,
		Request:     st.Request,
		Handled:     st.LastHandledRequest,
		Memory:      mem.Memory,
		NewID:       r.NewID(),
	})
	if d.Ask != nil {
		next.Request = d.Ask
	}
	res, err := again(writeStatus(ctx, r.Client, "FluxTrigger", &t, requested{Request: st.Request, Conditions: conditions.OfMirror(&t)}, next))
	if err != nil || !res.IsZero() {
		return res, err
	}
	if d.Ask != nil {
		mem.Memory = mem.Asked(branch)
		r.Requests.WithLabelValues(string(d.Ask.Reason)).Inc()
		ctrl.LoggerFrom(ctx).Info("apply requested", "commit", d.Ask.Commit, "reason", d.Ask.Reason, "request", d.Ask.ID)
	}
	return ctrl.Result{RequeueAfter: apply.Sooner(d.Wait, claim.Wait)}, nil
}

// targets returns what the branch workers know of each target that binds the trigger.
func (r *RequestReconciler) targets(ctx context.Context, t *v1alpha1.FluxTrigger) ([]apply.Target, error) {
	var all v1alpha1.GitTargetList
	if err := r.List(ctx, &all, client.InNamespace(t.Namespace)); err != nil {
		return nil, fmt.Errorf("list GitTargets: %w", err)
	}
	var bound []apply.Target
	for i := range all.Items {
		target := &all.Items[i]
		if !names(target, t.Name) {
			continue
		}
		provider, err := get(ctx, r, target.Namespace, target.Spec.GitProviderRef.Name, &v1alpha1.GitProvider{})
		if err != nil {
			return nil, err
		}
		state, ok := r.Mirror.State(client.ObjectKeyFromObject(target))
		if !ok || !conditions.Binds(t, target, provider).Bound {
			continue
		}
		bound = append(bound, apply.Target{
			Branch: target.Spec.Branch, Tip: state.Tip, Busy: state.Busy, Blind: state.Blind,
			QuietSince: state.QuietSince, ForeignMoves: state.ForeignMoves,
		})
	}
	return bound, nil
}

// recall returns what is known of the trigger; of another one that has its name now, nothing. One pass at a time uses it.
func (r *RequestReconciler) recall(t *v1alpha1.FluxTrigger) *remembered {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory == nil {
		r.memory = map[types.NamespacedName]*remembered{}
	}
	name := client.ObjectKeyFromObject(t)
	m := r.memory[name]
	if m == nil || m.trigger != t.UID {
		m = &remembered{trigger: t.UID}
		r.memory[name] = m
	}
	return m
}

func (r *RequestReconciler) forget(trigger types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory, trigger)
}

// SetupWithManager registers the reconciler; moved wakes the trigger of a target whose branch moved, and turned a trigger
// whose holder died or came back.
func (r *RequestReconciler) SetupWithManager(mgr ctrl.Manager, moved, turned Wakes) error {
	c := mgr.GetClient()
	ofTarget := func(ctx context.Context, c client.Client, obj client.Object) []types.NamespacedName {
		var t v1alpha1.GitTarget
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), &t); err != nil || t.Spec.ApplyTriggerRef == nil {
			return nil // gone, or it asks for no applies
		}
		return []types.NamespacedName{{Namespace: t.Namespace, Name: t.Spec.ApplyTriggerRef.Name}}
	}
	return ctrl.NewControllerManagedBy(mgr).Named("request").
		For(&v1alpha1.FluxTrigger{}).
		Watches(&v1alpha1.GitTarget{}, mapTo(c, ofTarget)).
		WatchesRawSource(source.Channel(moved, mapTo(c, ofTarget))).
		WatchesRawSource(source.Channel(turned, &handler.EnqueueRequestForObject{})).
		Complete(r)
}
