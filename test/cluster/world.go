package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	holdfastv1 "github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
)

const (
	startTries = 3                // with other ports each, when one was taken under our hands
	startBound = 90 * time.Second // for one component to become ready, on a busy machine
)

//go:embed manifests/access.yaml
var accessYAML string

// Options say what kind of world Start makes. The zero value is a whole one in a temporary folder.
type Options struct {
	WithoutFlux bool      // Flux's kinds are there and its controllers are not, for tests that need no applier
	ForNode     bool      // nodes may join and pods are scheduled; of Flux and of Holdfast nothing is there, not even kinds
	Temp        string    // folder in which the world's is made; "": the temporary folder
	Keep        bool      // leave the folder after Stop; KEEP=1 in the environment does the same
	Out         io.Writer // progress for a person; nil: standard error

	// Args are further arguments by component, after the usual ones; the last of two equal flags wins.
	Args map[string][]string
}

// Phase is one step of a start and how long it took.
type Phase struct {
	Name string
	Took time.Duration
}

// World is a running control plane with Flux, Git and users. Its methods may be called from any goroutine, but one
// component is only ever started or stopped by one goroutine at a time.
type World struct {
	Dir string            // everything the world has written: logs, repositories, kubeconfigs
	Git *gitserver.Server // with the users GitHoldfast, GitBob and GitFlux

	options Options
	root    string // the checkout
	bins    binaries
	ports   *ports
	pki     *pki
	http    *http.Client
	client  client.Client
	phases  []Phase

	injector *injector // nil until StartInjector

	mu      sync.Mutex
	running []*running // in the order they were started
}

// running is a component and its process, which changes when it is restarted.
type running struct {
	component
	process *process
}

// Start builds what is missing, starts a world and returns once everything in it is ready. An error names what is
// missing or which component failed, with the end of its log; nothing is left running then. Stop the world in any case.
func Start(ctx context.Context, o Options) (*World, error) {
	ctrllog.SetLogger(ctrllog.Log.WithSink(ctrllog.NullLogSink{})) // the clients' own words would break into the progress
	if o.Out == nil {
		o.Out = os.Stderr
	}
	o.Keep = o.Keep || os.Getenv("KEEP") == "1"
	root, err := findCheckout()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	bins, err := buildUpstream(ctx, root, o)
	if err != nil {
		return nil, err
	}
	built := Phase{"programs", time.Since(begin)}
	for try := 1; ; try++ {
		w, err := startOn(ctx, root, bins, o)
		if err == nil {
			w.phases = slices.Insert(w.phases, 0, built)
			return w, nil
		}
		if try == startTries || !portTaken(err) {
			return nil, fmt.Errorf("start the world: %w", err)
		}
		fmt.Fprintf(o.Out, "a port was taken by another program meanwhile; starting again on other ports\n")
	}
}

// startOn is one try of Start, on ports of its own.
func startOn(ctx context.Context, root string, bins binaries, o Options) (*World, error) {
	dir, err := os.MkdirTemp(o.Temp, "holdfast-world-")
	if err != nil {
		return nil, err
	}
	w := &World{Dir: dir, options: o, root: root, bins: bins}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

func (w *World) start(ctx context.Context) error {
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"folder and certificates", w.prepare},
		{Etcd, func(ctx context.Context) error { return w.run(ctx, w.etcd()) }},
		{APIServer, func(ctx context.Context) error { return w.run(ctx, w.apiServer()) }},
		{"kinds and access", w.furnish},
		{"controllers", w.runControllers},
	}
	for _, s := range steps {
		begin := time.Now()
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		w.phases = append(w.phases, Phase{s.name, time.Since(begin)})
	}
	return nil
}

// prepare makes everything that exists before the first program runs.
func (w *World) prepare(context.Context) (err error) {
	for _, dir := range []string{"bin", "logs", "pki", "kubeconfig", "home", "tmp", "artifacts", "gitmirror"} {
		if err := os.Mkdir(w.path(dir), 0o755); err != nil {
			return err
		}
	}
	if w.ports, err = takePorts(); err != nil {
		return err
	}
	if w.pki, err = newPKI(w.path("pki")); err != nil {
		return err
	}
	if err := w.writeKubeconfigs(); err != nil {
		return err
	}
	if w.http, err = w.adminHTTP(); err != nil {
		return err
	}
	if err := w.bins.linkInto(w.path("bin")); err != nil {
		return err
	}
	w.Git, err = gitserver.Start(w.path("git"), loopback(w.ports.git), gitUsers())
	return err
}

// furnish installs the kinds and the access rules into the fresh API server.
func (w *World) furnish(ctx context.Context) error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	if w.client, err = client.New(w.RESTConfig(Admin), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if w.options.ForNode {
		return nil // what is to run in pods is installed as people install it
	}
	if err := w.installKinds(ctx); err != nil {
		return err
	}
	return w.grantAccess(ctx)
}

// runControllers starts the controllers side by side.
func (w *World) runControllers(ctx context.Context) error {
	controllers := []component{w.controllerManager()}
	switch {
	case w.options.ForNode:
		controllers = append(controllers, w.scheduler())
	case !w.options.WithoutFlux:
		controllers = append(controllers, w.sourceController(), w.kustomizeController())
	}
	errs := make([]error, len(controllers))
	var wg sync.WaitGroup
	for i, c := range controllers {
		wg.Go(func() { errs[i] = w.run(ctx, c) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Stop ends everything in the reverse order of starting and removes the folder, or says where it is when it is kept.
// Each program gets a bounded time to end and is killed then. Stopping again does nothing.
func (w *World) Stop() error {
	w.mu.Lock()
	all := slices.Clone(w.running)
	w.running = nil
	w.mu.Unlock()
	var errs []error
	for _, r := range slices.Backward(all) {
		errs = append(errs, r.process.stop(r.grace))
	}
	if w.injector != nil {
		w.injector.service.close()
	}
	if w.Git != nil {
		errs = append(errs, w.Git.Down())
	}
	if w.ports != nil {
		w.ports.release()
	}
	if w.options.Keep {
		fmt.Fprintf(w.options.Out, "the world's folder is kept: %s\n", w.Dir)
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, os.RemoveAll(w.Dir))...)
}

// Timings are the phases of the start, in order.
func (w *World) Timings() []Phase { return slices.Clone(w.phases) }

// Client is a typed client for user that knows the kinds of Kubernetes, Flux and Holdfast.
func (w *World) Client(user string) (client.Client, error) {
	return client.New(w.RESTConfig(user), client.Options{Scheme: w.client.Scheme()})
}

// Scheme knows the kinds of Kubernetes, Flux and Holdfast.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme, holdfastv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return s, nil
}

// adminHTTP is an HTTP client with the administrator's certificate.
func (w *World) adminHTTP() (*http.Client, error) {
	admin, err := w.pki.cluster.client(Admin, groups(Admin)...)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(admin.cert, admin.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.pki.cluster.cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}},
		DisableKeepAlives: true, // a restarted component is asked afresh
	}}, nil
}

func (w *World) apiURL() string { return "https://" + loopback(w.ports.apiServer) }

func (w *World) path(name string) string { return filepath.Join(w.Dir, name) }
