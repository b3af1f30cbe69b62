package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/controller"
	"github.com/holdfast-gitops/holdfast/sidecar/leader"
	"github.com/holdfast-gitops/holdfast/sidecar/start"
)

// How long is waited before an API server is asked again: doubled from the first to the last.
const (
	againFirst = 500 * time.Millisecond
	againLast  = 10 * time.Second
	tryWithin  = 10 * time.Second // what of one try can be cut short
)

// kinds are all that a holder reads from its caches, but for the Lease of its controller. Their caches are asked for before
// the manager starts, which then runs nothing before they are filled, and waits for a right that is missing for as long as it
// takes; of a cache that a controller asks for later, controller-runtime makes an error after two minutes.
func kinds() []start.Kind {
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return []start.Kind{
		{Name: "FluxTriggers", Object: &v1alpha1.FluxTrigger{}},
		{Name: "GitTargets", Object: &v1alpha1.GitTarget{}},
		{Name: "GitProviders", Object: &v1alpha1.GitProvider{}},
		{Name: "KubeProviders", Object: &v1alpha1.KubeProvider{}},
		{Name: "Kustomizations", Object: &kustomizev1.Kustomization{}},
		{Name: "GitRepositories", Object: &sourcev1.GitRepository{}},
		{Name: "Namespaces", Object: namespaces},
	}
}

// reach returns a manager with a cache for every kind, and the uid of the cluster, once there is an API server that says so.
// Until then it tries again; what went wrong last is why the gate waits. It returns nil when ctx ends before.
func (h *holder) reach(ctx context.Context, find func() (*rest.Config, error), lease types.NamespacedName) (mgr ctrl.Manager, uid string, err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(controller.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return nil, "", fmt.Errorf("register kinds: %w", err)
	}
	type reached struct {
		mgr ctrl.Manager
		uid string
	}
	got := make(chan reached, 1)
	go func() {
		log, said := ctrl.LoggerFrom(ctx), ""
		for wait := againFirst; ; wait = min(2*wait, againLast) {
			mgr, uid, err := h.try(ctx, find, scheme, lease)
			if err == nil {
				got <- reached{mgr, uid}
				return
			}
			h.gate.Waits(func() error { return err })
			if ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				log.Error(err, "the holder is not ready, and tries again")
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
	select {
	case r := <-got:
		return r.mgr, r.uid, nil
	case <-ctx.Done():
		return nil, "", nil // a try that asks for the kinds there are cannot be cut short, and is not waited for
	}
}

// try makes a manager anew, because what one has heard of an API server it does not ask again.
func (h *holder) try(ctx context.Context, find func() (*rest.Config, error), scheme *runtime.Scheme, lease types.NamespacedName) (ctrl.Manager, string, error) {
	c, err := find()
	if err != nil {
		return nil, "", err
	}
	c = rest.CopyConfig(c)
	c.QPS = -1 // the API server's own fairness decides; a holder that queues its suspends behind itself is late
	grace, caches := passesEnd, &start.Caches{}
	mgr, err := ctrl.NewManager(c, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: "0"}, // the holder has a server of its own
		HealthProbeBindAddress:  "0",
		Cache:                   cache.Options{ByObject: leader.Only(lease), DefaultWatchErrorHandler: caches.WatchFailed},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true)}, // there is one; a test has several holders
		GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		return nil, "", fmt.Errorf("set up: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, tryWithin)
	defer cancel()
	uid, err := controller.ClusterUID(within, mgr.GetAPIReader())
	if err != nil {
		return nil, "", err
	}
	wanted := kinds()
	if h.election {
		wanted = append(wanted, start.Kind{Name: "Leases", Object: &coordinationv1.Lease{}})
	}
	if err := caches.Want(ctx, mgr.GetCache(), wanted...); err != nil {
		return nil, "", err
	}
	h.gate.Waits(caches.Waits)
	return mgr, uid, nil
}
