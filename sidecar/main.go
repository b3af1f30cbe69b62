// Command holder holds appliers: it keeps each suspended and resumes it for one recorded operation at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-gitops/holdfast/internal/applier/flux"
	"github.com/holdfast-gitops/holdfast/internal/commandline"
	"github.com/holdfast-gitops/holdfast/internal/kubeconfig"
	"github.com/holdfast-gitops/holdfast/internal/stopping"
	"github.com/holdfast-gitops/holdfast/internal/version"
	"github.com/holdfast-gitops/holdfast/sidecar/controller"
	"github.com/holdfast-gitops/holdfast/sidecar/leader"
	"github.com/holdfast-gitops/holdfast/sidecar/notify"
	"github.com/holdfast-gitops/holdfast/sidecar/start"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

// A stop is over within five seconds: passes get the first two to end, suspending what is resumed the rest, and the server
// is there until then.
const (
	passesEnd   = 2 * time.Second
	managerEnds = passesEnd + 500*time.Millisecond // when the manager is given up, which ends the passes itself
	suspendsEnd = 2300 * time.Millisecond
	serverEnds  = 200 * time.Millisecond
)

func main() {
	var s settings
	s.bind(flag.CommandLine)
	version.AddFlag(flag.CommandLine, "holder", os.Stdout, os.Exit)
	flag.CommandLine.Init("holder", flag.ContinueOnError)
	usage := flag.CommandLine.Parse(os.Args[1:]) // has printed what is wrong, and how it is used
	switch {
	case errors.Is(usage, flag.ErrHelp):
		os.Exit(0)
	case usage == nil:
		usage = commandline.Whole(flag.CommandLine)
	}
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.level}))
	ctrl.SetLogger(log)

	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		err = fmt.Errorf("--metrics-bind-address=%s: nobody can be told how the holder is: %w", s.address, err)
	} else {
		err = run(ctrl.LoggerInto(ctrl.SetupSignalHandler(), log), listener, s, usage, kubeconfig.Load)
	}
	if err != nil {
		log.Error(err, "holder ends")
		os.Exit(1)
	}
}

// run answers on listener from its first moment to its last. In between it holds until ctx ends, and then suspends what it
// had resumed. With something wrong that time does not mend, it says so and stays until its controller has been let start;
// usage is such a thing, in the command line. find says where the API server is.
func run(ctx context.Context, listener net.Listener, s settings, usage error, find func() (*rest.Config, error)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := holder{settings: s, gate: start.NewGate(s.bounded()), counted: prometheus.NewRegistry()}
	h.page = statuspage.New(ctx, &h.early, h.early.leadership, now)
	server := start.Serve(listener, h.gate, prometheus.Gatherers{metrics.Registry, h.counted}, h.page.Handler())
	go func() {
		select {
		case err := <-server.Failed():
			stop(err)
		case <-ctx.Done():
		}
	}()
	go h.gate.Tell(ctx)

	err := errors.Join(usage, h.gate.Register(h.counted))
	if err == nil {
		err = h.hold(ctx, find)
	}
	if failed := err; failed != nil && ctx.Err() == nil {
		h.gate.Waits(func() error { return failed })
		ctrl.LoggerFrom(ctx).Error(err, "the holder cannot hold, and ends when its controller has been let start")
		h.gate.Outlast(ctx)
	}
	closing, cancel := context.WithTimeout(context.Background(), serverEnds)
	defer cancel()
	server.Close(closing)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// holder is what is there before anything has been asked of an API server.
type holder struct {
	settings
	gate    *start.Gate
	counted *prometheus.Registry
	page    *statuspage.Page
	early   early
}

// hold waits until there is an API server that knows every kind, and holds until ctx ends.
func (h *holder) hold(ctx context.Context, find func() (*rest.Config, error)) error {
	flags, err := h.resolve()
	if err != nil {
		return err
	}
	lease := leader.LeaseOf(h.namespace, h.selector)
	mgr, uid, err := h.reach(ctx, find, lease)
	if err != nil {
		return err
	}
	if mgr == nil {
		return nil // told to stop before there was anything to hold
	}
	counts, err := controller.NewMetrics(h.counted, mgr.GetClient())
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	heartbeat, err := leader.NewHeartbeat(mgr.GetClient(), h.namespace, h.identity, now)
	if err != nil {
		return err
	}
	watcher := leader.Off()
	if h.election {
		if watcher, err = leader.Watch(ctx, mgr.GetCache(), lease, h.identity); err != nil {
			return err
		}
	}
	h.early.become(mgr.GetClient(), func() statuspage.Leadership {
		state := watcher.State()
		return statuspage.Leadership{Holder: heartbeat.Name(), Leads: state.Leads, Controller: state.Controller}
	})
	if err := h.page.Follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	posts, err := notify.Open(notify.Options{Address: h.eventsAddr, Instance: h.identity, Log: ctrl.LoggerFrom(ctx), Count: counts.Posted})
	if err != nil { // the controller may take an address that is none for the holder, which can hold without
		ctrl.LoggerFrom(ctx).Error(err, "no event is posted: correct --events-addr")
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
		Namespace:           h.namespace,
		Heartbeat:           heartbeat.Name(),
	}
	ready := manager.RunnableFunc(func(context.Context) error { h.gate.Ready(); return nil }) // it runs once the caches are filled
	if err := errors.Join(r.SetupWithManager(ctx, mgr, watcher.Changes()), mgr.Add(heartbeat), mgr.Add(ready)); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	ended := stopping.Within(ctx, managerEnds, mgr.Start)
	last, cancel := context.WithTimeout(logr.NewContext(context.Background(), ctrl.LoggerFrom(ctx)), suspendsEnd)
	defer cancel()
	stopped := errors.Join(ended, r.Stop(last), heartbeat.Release(last))
	posts.Close(last) // no pass runs any more, so nothing is added
	return stopped
}
