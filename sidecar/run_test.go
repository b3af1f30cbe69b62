package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/sidecar/controller"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// begun runs a holder whose controller waits for it for a second. It returns a way to ask it, and one to stop it.
func begun(t *testing.T, usage error, config func() (*rest.Config, error), args ...string) (ask func(path string) (int, string), stop func() error) {
	t.Helper()
	var s settings
	fs := flag.NewFlagSet("holder", flag.ContinueOnError)
	s.bind(fs)
	if err := fs.Parse(append([]string{"--start-bound=1s", "--identity=pod"}, args...)); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), logr.Discard()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, s, usage, config) }()
	ask = func(path string) (int, string) {
		t.Helper()
		resp := get(t, "http://"+listener.Addr().String()+path)
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	stop = func() error {
		t.Helper()
		select {
		case err := <-ended:
			t.Fatalf("it has ended before it was told to: %v", err)
		default:
		}
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second): // twice what a stop may take
			t.Fatal("it does not stop")
			return nil
		}
	}
	return ask, stop
}

// until asks until path is answered so, and returns what is said then.
func until(t *testing.T, ask func(string) (int, string), path string, code int, text string) string {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		got, said := ask(path)
		if got == code && strings.Contains(said, text) {
			return said
		}
		if time.Now().After(end) {
			t.Fatalf("%s is answered %d %q", path, got, said)
		}
	}
}

// answering is the configuration for an API server that answers so.
func answering(t *testing.T, answer http.HandlerFunc) func() (*rest.Config, error) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
}

// nowhere is the configuration for an API server that is not there.
func nowhere(t *testing.T) func() (*rest.Config, error) {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	return func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
}

// bare knows Namespaces and Leases, and nothing else.
func bare(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/api/v1/namespaces/kube-system":
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"a"}}`)
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/api/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace","verbs":["get"]}]}`)
	case "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"coordination.k8s.io","versions":[{"groupVersion":"coordination.k8s.io/v1","version":"v1"}]}]}`)
	case "/apis/coordination.k8s.io/v1":
		fmt.Fprint(w, `{"kind":"APIResourceList","groupVersion":"coordination.k8s.io/v1","resources":[{"name":"leases","kind":"Lease","namespaced":true,"verbs":["get"]}]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

// refusing gives nobody any object.
func refusing(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/api/v1/namespaces/kube-system" {
		bare(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"namespaces \"kube-system\" is forbidden"}`)
}

func TestAHolderThatIsNeverReadyLetsItsControllerStartAtTheBoundAndSaysWhyItIsNot(t *testing.T) {
	missing := func() (*rest.Config, error) { return nil, errors.New("no configuration has been provided") }
	for _, row := range []struct {
		name   string
		config func() (*rest.Config, error)
		args   []string
		usage  error
		why    string
		fails  bool // and so would end by itself
	}{
		{name: "no configuration", config: missing, why: "no configuration has been provided"},
		{name: "no API server", config: nowhere(t), why: "connection refused"},
		{name: "no rights", config: answering(t, refusing), why: `namespaces "kube-system" is forbidden`},
		{name: "no kinds", config: answering(t, bare), why: "watch FluxTriggers: the cluster has no such kind"},
		{name: "a flag that means nothing", config: missing, args: []string{"--watch-label-selector=weight>1"}, why: "--watch-label-selector=", fails: true},
		{name: "a flag that is none", config: missing, usage: errors.New("flag provided but not defined: -holds"), why: "-holds", fails: true},
		{name: "a bound beyond what the probe waits", config: missing, args: []string{"--start-bound=-1s"}, why: "--start-bound=-1s is not between 0 and 1m0s", fails: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ask, stop := begun(t, row.usage, row.config, row.args...)
			if !slices.Contains(row.args, "--start-bound=-1s") {
				if code, said := ask("/startz"); code != http.StatusServiceUnavailable {
					t.Errorf("the controller may start at once: %d %s", code, said)
				}
			}
			until(t, ask, "/readyz", http.StatusServiceUnavailable, row.why)
			if said := until(t, ask, "/startz", http.StatusOK, row.why); !strings.Contains(said, "does not wait for it any longer") {
				t.Errorf("got %s", said)
			}
			if code, said := ask("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(said, row.why) {
				t.Errorf("/readyz: %d %s", code, said)
			}
			if code, said := ask("/metrics"); code != http.StatusOK || !strings.Contains(said, "\nholdfast_holder_bypassed 1\n") || !strings.Contains(said, "\nholdfast_holder_ready 0\n") {
				t.Errorf("/metrics: %d %s", code, said)
			}
			if code, _ := ask("/healthz"); code != http.StatusOK {
				t.Errorf("/healthz: %d", code)
			}
			if code, said := ask("/status"); code != http.StatusServiceUnavailable {
				t.Errorf("/status: %d %s", code, said)
			}
			if err := stop(); (err != nil) != row.fails {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

func TestWhatKeepsAHolderFromBeingReadyIsTriedAgainInTheSameProcess(t *testing.T) {
	var now atomic.Pointer[func() (*rest.Config, error)]
	set := func(config func() (*rest.Config, error)) { now.Store(&config) }
	set(nowhere(t))
	ask, stop := begun(t, nil, func() (*rest.Config, error) { return (*now.Load())() })
	until(t, ask, "/readyz", http.StatusServiceUnavailable, "connection refused")
	set(answering(t, refusing))
	until(t, ask, "/readyz", http.StatusServiceUnavailable, "is forbidden")
	set(answering(t, bare))
	until(t, ask, "/readyz", http.StatusServiceUnavailable, "no such kind")
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAHolderStopsWhileItsAPIServerIsSilent(t *testing.T) {
	asked, over := make(chan struct{}, 1), make(chan struct{})
	ask, stop := begun(t, nil, answering(t, func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-over
	}))
	defer close(over)
	<-asked
	until(t, ask, "/startz", http.StatusOK, "")
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAHolderThatCannotBeAskedAnyLongerEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	err = run(logr.NewContext(t.Context(), logr.Discard()), listener, settings{identity: "pod", namespace: "flux-system"}, nil, nowhere(t))
	if err == nil || !strings.Contains(err.Error(), "serve probes and status") {
		t.Errorf("got %v", err)
	}
}

// A cache nobody asked for before the manager starts is an error two minutes later if a right is missing, and the holder
// would be ready before it is filled.
func TestEveryKindAHolderMayWatchIsWaitedFor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "charts", "holdfast", "files", "rbac", "holder.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if slices.Contains(rule.Verbs, "watch") && resource != "leases" { // watched where there is an election
					want[rule.APIGroups[0]+"/"+resource] = true
				}
			}
		}
	}
	scheme := runtime.NewScheme()
	if err := controller.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		gvk, err := apiutil.GVKForObject(k.Object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		plural, _ := apimeta.UnsafeGuessKindToResource(gvk)
		if name := plural.Group + "/" + plural.Resource; !want[name] {
			t.Errorf("%s are waited for, and the holder may not watch them", name)
		} else if delete(want, name); !strings.EqualFold(k.Name, plural.Resource) {
			t.Errorf("people are told of %s when it is %s", k.Name, plural.Resource)
		}
	}
	for name := range want {
		t.Errorf("the holder may watch %s and does not wait for them", name)
	}
}
