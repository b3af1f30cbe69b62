// Command gitmirror writes what people and programs change in a cluster into Git, each under its author, and asks for an
// apply once a branch is quiet.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/controller"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
	"github.com/holdfast-gitops/holdfast/internal/commandline"
	"github.com/holdfast-gitops/holdfast/internal/kubeconfig"
	"github.com/holdfast-gitops/holdfast/internal/stopping"
	"github.com/holdfast-gitops/holdfast/internal/version"
)

// stopBound is how long a stop may take: what is under way waits up to 4s for its names, a branch worker pushes for up to
// 20s, and the receiver ends.
const stopBound = 28 * time.Second

// settings are what the flags say.
type settings struct {
	dataDir string
	poll    time.Duration
	metrics string
	health  string
	audit   audit.ServerOptions
	token   string
}

func main() {
	var s settings
	var level slog.Level
	flag.StringVar(&s.dataDir, "data-dir", "/var/lib/gitmirror", "folder for copies of the repositories; may be empty after a restart")
	flag.DurationVar(&s.poll, "poll-interval", 10*time.Second, "how often each branch is asked for commits of others")
	flag.StringVar(&s.metrics, "metrics-bind-address", ":8080", "where /metrics is served; 0: nowhere")
	flag.StringVar(&s.health, "health-probe-bind-address", "0", "where /healthz and /readyz are served; 0: nowhere")
	flag.StringVar(&s.audit.Address, "audit-bind-address", ":9443", "where the API server's audit webhook is received, over mutual TLS; 0: nowhere, and nobody is named")
	flag.StringVar(&s.audit.CertFile, "audit-tls-cert-file", "", "certificate of the audit receiver, PEM; required unless there is none")
	flag.StringVar(&s.audit.KeyFile, "audit-tls-key-file", "", "key of that certificate, PEM; required like it")
	flag.StringVar(&s.audit.ClientCAFile, "audit-client-ca-file", "", "authorities of the API server's client certificate, PEM; required like it")
	flag.StringVar(&s.token, "audit-token-file", "", "bearer token the audit webhook must carry as well; empty: none")
	flag.TextVar(&level, "log-level", slog.LevelInfo, "least level that is logged: DEBUG, INFO, WARN or ERROR")
	version.AddFlag(flag.CommandLine, "gitmirror", os.Stdout, os.Exit)
	flag.Parse() // controller-runtime adds --kubeconfig
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctrl.SetLogger(log)

	var config *rest.Config
	err := errors.Join(commandline.Whole(flag.CommandLine), s.check())
	if err == nil {
		config, err = kubeconfig.Load()
	}
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, s, log)
	}
	if err != nil {
		log.Error(err, "gitmirror ends")
		os.Exit(1)
	}
}

// nowhere is an address at which nothing is received.
const nowhere = "0"

// check names the flags that are required and not set. Without a receiver none is.
func (s settings) check() error {
	if s.audit.Address == nowhere {
		return nil
	}
	var missing []string
	for _, required := range []struct{ flag, value string }{
		{"-audit-tls-cert-file", s.audit.CertFile}, {"-audit-tls-key-file", s.audit.KeyFile}, {"-audit-client-ca-file", s.audit.ClientCAFile},
	} {
		if required.value == "" {
			missing = append(missing, required.flag)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("required and not set: %s; docs/audit.md says what they are, and -audit-bind-address=%s does without", strings.Join(missing, ", "), nowhere)
}

// run mirrors until ctx ends, and then pushes what is decided.
func run(ctx context.Context, config *rest.Config, s settings, log logr.Logger) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness decides
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme), eventsv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	bound := stopBound
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 metricsserver.Options{BindAddress: s.metrics},
		HealthProbeBindAddress:  s.health,
		GracefulShutdownTimeout: &bound,
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Label: labels.SelectorFromSet(labels.Set{v1alpha1.HolderLabel: "true"})},
		}},
	})
	if err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("gitmirror", healthz.Ping), mgr.AddReadyzCheck("gitmirror", healthz.Ping)); err != nil {
		return fmt.Errorf("set up probes: %w", err)
	}
	facts, receiver, err := receive(s, log)
	if err != nil {
		return err
	}
	if err := wire(mgr, s, facts, receiver, log); err != nil {
		return fmt.Errorf("set up: %w", err)
	}
	return stopping.Within(ctx, stopBound+time.Second, mgr.Start)
}

// receive returns the audit receiver and where its facts are kept. The receiver is nil, and no fact ever comes, when it is to
// listen nowhere.
func receive(s settings, log logr.Logger) (*audit.Index, *audit.Server, error) {
	facts := audit.NewIndex(audit.DefaultIndexSize, audit.DefaultIndexTTL)
	counts := audit.NewMetrics()
	if err := metrics.Registry.Register(counts); err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	if s.audit.Address == nowhere {
		return facts, nil, nil
	}
	s.audit.Log = log.WithName("audit")
	s.audit.Handler = &audit.Receiver{Index: facts, TokenFile: s.token, Metrics: counts, Log: s.audit.Log}
	server, err := audit.Listen(s.audit)
	return facts, server, err
}

// mirrorNamed runs the mirror and the receiver, if any, that names who made what it brings. The receiver ends last, so that
// also what is under way at a stop gets its name.
func mirrorNamed(m *mirror.Mirror, receiver *audit.Server) func(context.Context) error {
	if receiver == nil {
		return m.Start
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		receiving, end := context.WithCancel(context.WithoutCancel(ctx))
		received := make(chan error, 1)
		go func() {
			err := receiver.Start(receiving)
			cancel(err) // without it nothing has a name
			received <- err
		}()
		err := m.Start(ctx)
		end()
		return errors.Join(err, <-received)
	}
}

// wire puts the parts together.
func wire(mgr ctrl.Manager, s settings, facts *audit.Index, receiver *audit.Server, log logr.Logger) error {
	streams, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	now := clock.RealClock{}
	targetMoved, branchMoved := make(controller.Wakes), make(controller.Wakes)
	factsCame, holderTurned := make(controller.Wakes), make(controller.Wakes)
	holders := &controller.Holders{Client: mgr.GetClient(), Clock: now, Turned: holderTurned}
	counts, requests := mirror.NewMetrics(), controller.NewRequestCounter()
	if err := errors.Join(metrics.Registry.Register(counts), metrics.Registry.Register(requests)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	m := mirror.New(mirror.Options{
		Client: streams, Facts: facts, DataDir: s.dataDir, Poll: s.poll, Log: log.WithName("mirror"),
		Credentials: func(ctx context.Context, provider types.NamespacedName) (gitstore.Credentials, error) {
			return controller.CredentialsOf(ctx, mgr.GetClient(), mgr.GetAPIReader(), provider)
		},
		Changed: func(ctx context.Context, target types.NamespacedName) {
			targetMoved.Wake(ctx, target)
			branchMoved.Wake(ctx, target)
		},
		Refused: controller.TellRefused(mgr.GetClient(), rand.Text, log.WithName("mirror")),
		Metrics: counts,
	})
	received := func() bool { first, _ := facts.Received(); return !first.IsZero() }
	return errors.Join(
		mgr.Add(manager.RunnableFunc(mirrorNamed(m, receiver))),
		mgr.Add(manager.RunnableFunc(controller.WakeOnFirstFact(facts, factsCame))),
		(&controller.KubeProviderReconciler{Client: mgr.GetClient(), Clock: now, FactsReceived: received, ExpectFacts: facts.Expect}).SetupWithManager(mgr, factsCame),
		(&controller.GitProviderReconciler{Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Clock: now, Probe: m.Probe}).SetupWithManager(mgr),
		(&controller.WatchRuleReconciler{Client: mgr.GetClient(), Mapper: mgr.GetRESTMapper(), Clock: now}).SetupWithManager(mgr),
		(&controller.GitTargetReconciler{Client: mgr.GetClient(), Mapper: mgr.GetRESTMapper(), Mirror: m, Clock: now}).SetupWithManager(mgr, targetMoved),
		holders.SetupWithManager(mgr),
		(&controller.RequestReconciler{Client: mgr.GetClient(), Mirror: m, Clock: now, Lease: holders.Lease, NewID: rand.Text, Requests: requests}).
			SetupWithManager(mgr, branchMoved, holderTurned),
	)
}
