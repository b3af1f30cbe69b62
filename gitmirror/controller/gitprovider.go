package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
)

// probes is how many servers are asked at once: one that does not answer keeps no other provider waiting.
const probes = 16

// recheck is how often something outside the cluster's own events is looked at again.
const recheck = time.Minute

// GitProviderReconciler asks each repository, once a minute, whether it answers to its credentials.
type GitProviderReconciler struct {
	client.Client
	Secrets client.Reader // uncached, so that no Secret is kept in memory
	Clock   clock.PassiveClock
	// Probe asks the server of a provider; its errors are gitstore's.
	Probe func(ctx context.Context, provider types.NamespacedName, url string) error
}

// +kubebuilder:rbac:groups=holdfast.dev,resources=gitproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=holdfast.dev,resources=gitproviders/status,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Reconcile writes the provider's status.
func (r *GitProviderReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var p v1alpha1.GitProvider
	if err := r.Get(ctx, req.NamespacedName, &p); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	found := r.ask(ctx, &p)
	next := conditions.Provider(&p, found, r.Clock.Now().UTC())
	res, err := again(writeStatus(ctx, r.Client, "GitProvider", &p, p.Status, next))
	if err == nil && res.IsZero() {
		res.RequeueAfter = recheck
	}
	return res, err
}

// ask returns why the repository cannot be used.
func (r *GitProviderReconciler) ask(ctx context.Context, p *v1alpha1.GitProvider) conditions.Fault {
	if _, err := Credentials(ctx, r.Secrets, p); err != nil {
		return conditions.Fault{Reason: v1alpha1.ReasonSecretNotFound, Message: err.Error()}
	}
	return repositoryFault(r.Probe(ctx, client.ObjectKeyFromObject(p), p.Spec.URL), p.Spec.SecretRef != nil)
}

// CredentialsOf reads the credentials of a provider by its name.
func CredentialsOf(ctx context.Context, providers, secrets client.Reader, name types.NamespacedName) (gitstore.Credentials, error) {
	var p v1alpha1.GitProvider
	if err := providers.Get(ctx, name, &p); err != nil {
		return gitstore.Credentials{}, fmt.Errorf("read GitProvider %s: %w", name, err)
	}
	return Credentials(ctx, secrets, &p)
}

// Credentials reads the credentials that spec.secretRef names. Without a secretRef they are empty.
func Credentials(ctx context.Context, secrets client.Reader, p *v1alpha1.GitProvider) (gitstore.Credentials, error) {
	if p.Spec.SecretRef == nil {
		return gitstore.Credentials{}, nil
	}
	name := p.Spec.SecretRef.Name
	var s corev1.Secret
	err := secrets.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: name}, &s)
	switch {
	case apierrors.IsNotFound(err):
		return gitstore.Credentials{}, fmt.Errorf("spec.secretRef names Secret %q, which does not exist in this namespace; create it with keys username and password, or bearerToken", name)
	case err != nil:
		return gitstore.Credentials{}, fmt.Errorf("read Secret %q: %w", name, err)
	}
	creds := gitstore.Credentials{
		Username: string(s.Data["username"]), Password: string(s.Data["password"]), BearerToken: string(s.Data["bearerToken"]),
	}
	if creds.Password == "" && creds.BearerToken == "" {
		return gitstore.Credentials{}, fmt.Errorf("Secret %q of spec.secretRef holds no credentials; give it keys username and password, or bearerToken", name) //nolint:staticcheck // begins with a kind's name
	}
	return creds, nil
}

// SetupWithManager registers the reconciler.
func (r *GitProviderReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("gitprovider").For(&v1alpha1.GitProvider{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: probes}).Complete(r)
}
