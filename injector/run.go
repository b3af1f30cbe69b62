package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/holdfast-gitops/holdfast/injector/missing"
	"github.com/holdfast-gitops/holdfast/injector/trust"
	"github.com/holdfast-gitops/holdfast/injector/webhook"
	"github.com/holdfast-gitops/holdfast/internal/stopping"
)

const callsEnd = 10 * time.Second // for what is under way when the server stops

// run serves until ctx ends.
func run(ctx context.Context, config *rest.Config, s settings, drain *webhook.Drain) error {
	if err := s.check(); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(missing.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	counts, err := newMetrics()
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	log := ctrl.LoggerFrom(ctx)
	policy := webhook.OpenPolicy(s.policy, counts.webhook, log)
	keeper := &trust.Keeper{Configuration: s.configuration, Secret: s.secretName(), Now: time.Now, Metrics: counts.trust}

	objects := trust.CacheOnly(s.configuration, s.secretName())
	maps.Copy(objects, missing.CacheOnly())
	host, port, _ := s.listen() // checked above
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{Host: host, Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"} // what API servers speak, so that calls spread over replicas
		c.GetCertificate = keeper.GetCertificate
	}}})
	lock, err := newLock(config, s.namespace, s.pod, keeper.Owner)
	if err != nil {
		return err
	}
	grace := callsEnd
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Metrics:                             metricsserver.Options{BindAddress: s.metricsAddress},
		HealthProbeBindAddress:              s.probeAddress,
		WebhookServer:                       server,
		Cache:                               cache.Options{ByObject: objects},
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true, // nothing of the manager runs once Start returns, and then the process ends
		GracefulShutdownTimeout:             &grace,
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	lock.LockConfig.EventRecorder = mgr.GetEventRecorderFor(s.pod) //nolint:staticcheck // the lock takes no other
	room := webhook.RoomOf(mgr.GetAPIReader())
	mgr.GetWebhookServer().Register(webhook.Path, drain.Wrap(webhook.New(policy.Current, room, counts.webhook, log)))
	if err := mgr.Add(policy); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	keeper.Client = mgr.GetClient()
	if err := keeper.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the certificates: %w", err)
	}
	ready := func() error { return errors.Join(policy.Ready(), keeper.Ready()) }
	looker := &missing.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Policy: policy.Current, Room: room, Ready: ready, Consent: s.restartMissing,
		Own: s.namespace, Owner: keeper.Owner, Pod: s.pod, Now: time.Now, Metrics: counts.missing,
	}
	if err := looker.SetupWithManager(ctx, mgr); err != nil {
		return err
	}
	if err := probes(mgr, server.StartedChecker(), ready, drain); err != nil {
		return err
	}
	return stopping.Within(ctx, callsEnd+time.Second, mgr.Start)
}

// probes serve /healthz, and /readyz: whether calls would be answered, and are still wanted.
func probes(mgr ctrl.Manager, started healthz.Checker, ready func() error, drain *webhook.Drain) error {
	check := func(r *http.Request) error {
		if drain.Begun() {
			return errors.New("the injector is stopping")
		}
		if err := ready(); err != nil {
			return err
		}
		return started(r)
	}
	if err := errors.Join(mgr.AddHealthzCheck("injector", healthz.Ping), mgr.AddReadyzCheck("injector", check)); err != nil {
		return fmt.Errorf("serve the probes: %w", err)
	}
	return nil
}

// counted are the metrics of all parts.
type counted struct {
	webhook *webhook.Metrics
	trust   *trust.Metrics
	missing *missing.Metrics
}

func newMetrics() (c counted, err error) {
	var errs [3]error
	c.webhook, errs[0] = webhook.NewMetrics(metrics.Registry)
	c.trust, errs[1] = trust.NewMetrics(metrics.Registry)
	c.missing, errs[2] = missing.NewMetrics(metrics.Registry)
	return c, errors.Join(errs[:]...)
}
