package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	// A controller waits for its holder that long, and no flag makes it wait longer than the probe that the injector writes
	// goes on asking, with time to spare for a process that is slow to begin.
	defaultStartBound = 30 * time.Second
	mostStartBound    = time.Minute

	defaultNamespace = "flux-system"
	namespaceFile    = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

	// runtimeNamespace is the variable by which Flux tells its controllers where they run.
	runtimeNamespace = "RUNTIME_NAMESPACE"

	// cancelsGate makes kustomize-controller end a health check as soon as its Kustomization is written again.
	cancelsGate = "CancelHealthCheckOnNewRevision"
)

// settings are what the flags say. Those about the controller repeat what the kustomize-controller of the same pod was
// started with.
type settings struct {
	address    string
	level      slog.Level
	startBound time.Duration
	eventsAddr string

	election  bool
	namespace string
	identity  string
	selector  string // as text: the name of the controller's Lease is made from it
	gates     string

	allNamespaces bool
}

// bind defines the flags; controller-runtime adds --kubeconfig.
func (s *settings) bind(fs *flag.FlagSet) {
	fs.StringVar(&s.address, "metrics-bind-address", fmt.Sprintf(":%d", v1alpha1.HolderPort),
		"where /metrics, /healthz, /readyz and /startz are served, and to the loopback interface alone the status page and /status")
	fs.TextVar(&s.level, "log-level", slog.LevelInfo, "least level that is logged: DEBUG, INFO, WARN or ERROR")
	fs.DurationVar(&s.startBound, "start-bound", defaultStartBound,
		"the longest that kustomize-controller, whose start waits for /startz, waits for this holder to be ready, counted from the holder's own start; at most "+mostStartBound.String()+", and 0: it does not wait")
	fs.StringVar(&s.eventsAddr, "events-addr", "",
		"the kustomize-controller's --events-addr, where Flux's notification-controller takes events; empty: none are posted")
	fs.BoolVar(&s.election, "controller-leader-election", false,
		"the kustomize-controller of this pod runs with --enable-leader-election; operations are started only while it leads")
	fs.StringVar(&s.namespace, "controller-namespace", podNamespace(os.Getenv(runtimeNamespace), namespaceFile),
		"where kustomize-controller runs and its Lease is; the holder's own Lease is made there")
	host, _ := os.Hostname() // an error leaves the flag without a default, which resolve finds
	fs.StringVar(&s.identity, "identity", host, "name of this pod, and the node's on the host's network: what precedes the last _ in the identity its kustomize-controller leads with")
	fs.StringVar(&s.selector, "watch-label-selector", "",
		"the kustomize-controller's --watch-label-selector, letter by letter; other Kustomizations are left to other holders")
	fs.BoolVar(&s.allNamespaces, "watch-all-namespaces", true,
		"the kustomize-controller's --watch-all-namespaces; false: Kustomizations outside the namespace $RUNTIME_NAMESPACE are left to other holders")
	fs.StringVar(&s.gates, "controller-feature-gates", "", "the kustomize-controller's --feature-gates")
}

// resolved is what settings mean.
type resolved struct {
	shard               labels.Selector // of the Kustomizations the controller sees
	watched             string          // the only namespace it sees; "": all
	cancelsHealthChecks bool
}

// resolve returns what the settings mean, or every mistake in them.
func (s settings) resolve() (resolved, error) {
	var r resolved
	var errs []error
	var err error
	if r.shard, err = shardOf(s.selector); err != nil {
		errs = append(errs, fmt.Errorf("--watch-label-selector=%q: %w", s.selector, err))
	}
	if !s.allNamespaces {
		r.watched = os.Getenv(runtimeNamespace) // without it the controller sees all of them after all
	}
	gates, err := gatesOf(s.gates)
	if err != nil {
		errs = append(errs, fmt.Errorf("--controller-feature-gates=%q: %w", s.gates, err))
	}
	r.cancelsHealthChecks = gates[cancelsGate]
	if s.startBound != s.bounded() {
		errs = append(errs, fmt.Errorf("--start-bound=%s is not between 0 and %s", s.startBound, mostStartBound))
	}
	if s.namespace == "" {
		errs = append(errs, errors.New("--controller-namespace is empty: say where kustomize-controller runs"))
	}
	if s.identity == "" {
		errs = append(errs, errors.New("--identity is empty: give the name of this pod"))
	}
	return r, errors.Join(errs...)
}

// bounded is how long the controller waits, whatever the flag says.
func (s settings) bounded() time.Duration {
	return min(max(s.startBound, 0), mostStartBound)
}

// shardOf reads a selector as Flux does, which knows fewer operators than Kubernetes; "" selects everything.
func shardOf(text string) (labels.Selector, error) {
	if text == "" {
		return labels.Everything(), nil
	}
	selector, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// gatesOf reads name=bool pairs as Flux does: parted by commas, spaces around them left out, the last of a name counts.
func gatesOf(text string) (map[string]bool, error) {
	gates := map[string]bool{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, fmt.Errorf("%q is not name=true or name=false", pair)
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("%q is neither true nor false", value)
		}
		gates[strings.TrimSpace(name)] = on
	}
	return gates, nil
}

// podNamespace is the namespace this pod runs in: what Flux puts into its environment, else what Kubernetes puts into the
// file, else where Flux is installed unless somebody chose another.
func podNamespace(env, file string) string {
	if env != "" {
		return env
	}
	if content, err := os.ReadFile(file); err == nil {
		if name := strings.TrimSpace(string(content)); name != "" {
			return name
		}
	}
	return defaultNamespace
}
