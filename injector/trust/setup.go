package trust

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// A write that applies needs patch, and create where nothing is there yet; unlike a POST, both are asked of the name.
// +kubebuilder:rbac:groups="",namespace=holdfast-system,resources=secrets,resourceNames=holdfast-injector,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=holdfast-injector,verbs=list;watch;patch

// CacheOnly is what a manager's cache must be limited to, since a Keeper may see these two objects and no others.
func CacheOnly(configuration string, secret types.NamespacedName) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{
			secret.Namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", secret.Name)},
		}},
		&admissionregistrationv1.MutatingWebhookConfiguration{}: {Field: fields.OneTermEqualSelector("metadata.name", configuration)},
	}
}

// SetupWithManager makes every replica keep its certificate, whichever leads.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	everyReplica := false
	return ctrl.NewControllerManagedBy(mgr).
		Named("trust").
		For(&admissionregistrationv1.MutatingWebhookConfiguration{}).
		Watches(&corev1.Secret{}, enqueue(k.Configuration)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, NeedLeaderElection: &everyReplica}).
		Complete(k)
}

// enqueue names the one thing there is to look at.
func enqueue(configuration string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: configuration}}}
	})
}
