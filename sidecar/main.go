// Command holder holds appliers: it keeps each suspended and resumes it for one recorded operation at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-gitops/holdfast/internal/applier/flux"
	"github.com/holdfast-gitops/holdfast/internal/stopping"
	"github.com/holdfast-gitops/holdfast/internal/version"
	"github.com/holdfast-gitops/holdfast/sidecar/controller"
	"github.com/holdfast-gitops/holdfast/sidecar/leader"
	"github.com/holdfast-gitops/holdfast/sidecar/notify"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

// A stop is over within five seconds: passes get the first two to end, suspending what is resumed the rest.
const (
	passesEnd   = 2 * time.Second
	managerEnds = passesEnd + 500*time.Millisecond // when the manager is given up, which ends the passes itself
	suspendsEnd = 2500 * time.Millisecond
)

func main() {
	var s settings
	s.bind(flag.CommandLine)
	version.AddFlag(flag.CommandLine, "holder", os.Stdout, os.Exit)
	flag.Parse()
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.level}))
	ctrl.SetLogger(log)

	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), log), config, s)
	}
	if err != nil {
		log.Error(err, "holder ends")
		os.Exit(1)
	}
}

// run holds until ctx ends, and then suspends what it had resumed.
func run(ctx context.Context, config *rest.Config, s settings) error {
	flags, err := s.resolve()
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness decides; a holder that queues its suspends behind itself is late
	scheme := runtime.NewScheme()
	if err := errors.Join(controller.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	grace, lease := passesEnd, leader.LeaseOf(s.namespace, s.selector)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: s.address},
		HealthProbeBindAddress:  "0", // the probes are beside the metrics
		Cache:                   cache.Options{ByObject: leader.Only(lease)},
		GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	uid, err := controller.ClusterUID(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	counts, err := controller.NewMetrics(metrics.Registry, mgr.GetClient())
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	heartbeat, err := leader.NewHeartbeat(mgr.GetClient(), s.namespace, s.identity, now)
	if err != nil {
		return err
	}
	if err := mgr.Add(heartbeat); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	watcher := leader.Off()
	if s.election {
		if watcher, err = leader.Watch(ctx, mgr.GetCache(), lease, s.identity); err != nil {
			return err
		}
	}
	at := func() statuspage.Leadership {
		state := watcher.State()
		return statuspage.Leadership{Holder: heartbeat.Name(), Leads: state.Leads, Controller: state.Controller}
	}
	page := statuspage.New(ctx, mgr.GetClient(), at, now)
	if err := page.Follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := serve(mgr, ready(mgr.GetCache()), page.Handler()); err != nil {
		return err
	}
	posts, err := notify.Open(notify.Options{Address: s.eventsAddr, Instance: s.identity, Log: ctrl.LoggerFrom(ctx), Count: counts.Posted})
	if err != nil {
		return fmt.Errorf("--events-addr: %w", err)
	}
	r := &controller.Reconciler{
		Client:              mgr.GetClient(),
		Live:                mgr.GetAPIReader(),
		Applier:             flux.New(mgr.GetClient()),
		ClusterUID:          uid,
		Now:                 now,
		NewToken:            controller.NewToken,
		Metrics:             counts,
		Notify:              posts,
		Leader:              watcher,
		Shard:               flags.shard,
		Watched:             flags.watched,
		CancelsHealthChecks: flags.cancelsHealthChecks,
		Namespace:           s.namespace,
		Heartbeat:           heartbeat.Name(),
	}
	if err := r.SetupWithManager(ctx, mgr, watcher.Changes()); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ended := stopping.Within(ctx, managerEnds, mgr.Start)
	last, cancel := context.WithTimeout(logr.NewContext(context.Background(), ctrl.LoggerFrom(ctx)), suspendsEnd)
	defer cancel()
	stopped := errors.Join(ended, r.Stop(last), heartbeat.Release(last))
	posts.Close(last) // no pass runs any more, so nothing is added
	return stopped
}

// serve puts the probes and the status on the metrics server.
func serve(mgr ctrl.Manager, ready healthz.Checker, page http.Handler) error {
	if err := mgr.AddMetricsServerExtraHandler("/", page); err != nil {
		return fmt.Errorf("serve the status: %w", err)
	}
	for path, check := range map[string]healthz.Checker{"/healthz": healthz.Ping, "/readyz": ready} {
		h := http.StripPrefix(path, &healthz.Handler{Checks: map[string]healthz.Checker{"holder": check}})
		if err := mgr.AddMetricsServerExtraHandler(path, h); err != nil {
			return fmt.Errorf("serve %s: %w", path, err)
		}
	}
	return nil
}

// ready succeeds once the caches are filled.
func ready(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
