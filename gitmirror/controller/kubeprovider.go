package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
)

// KubeProviderReconciler says on each KubeProvider whether audit events arrive.
type KubeProviderReconciler struct {
	client.Client
	Clock clock.PassiveClock
	// FactsReceived says whether an audit event has arrived since the start.
	FactsReceived func() bool
	// ExpectFacts is told whether events are to be expected, because some have arrived at any time.
	ExpectFacts func(bool)
}

// +kubebuilder:rbac:groups=holdfast.dev,resources=kubeproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=holdfast.dev,resources=kubeproviders/status,verbs=get;patch

// Reconcile writes the provider's status.
func (r *KubeProviderReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.KubeProvider
	if err := r.Get(ctx, req.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	next := conditions.KubeProvider(&p, r.FactsReceived(), r.Clock.Now().UTC())
	var all v1alpha1.KubeProviderList
	if err := r.List(ctx, &all); err != nil {
		return ctrl.Result{}, fmt.Errorf("list KubeProviders: %w", err)
	}
	r.ExpectFacts(conditions.ExpectFacts(all.Items, next))
	return again(writeStatus(ctx, r.Client, "KubeProvider", &p, p.Status, next))
}

// SetupWithManager registers the reconciler; firstFact wakes every provider.
func (r *KubeProviderReconciler) SetupWithManager(mgr ctrl.Manager, firstFact Wakes) error {
	return ctrl.NewControllerManagedBy(mgr).Named("kubeprovider").
		For(&v1alpha1.KubeProvider{}).
		WatchesRawSource(source.Channel(firstFact, mapTo(mgr.GetClient(), listKubeProviders))).
		Complete(r)
}

// WakeOnFirstFact returns what wakes the KubeProviders once, when the first fact has arrived.
func WakeOnFirstFact(facts *audit.Index, firstFact Wakes) func(context.Context) error {
	return func(ctx context.Context) error {
		added, stop := facts.Listen()
		defer stop()
		for {
			if first, _ := facts.Received(); !first.IsZero() {
				firstFact.Wake(ctx, types.NamespacedName{})
				return nil
			}
			select {
			case <-added:
			case <-ctx.Done():
				return nil
			}
		}
	}
}
