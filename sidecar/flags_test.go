package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestTheNamespaceIsThePodsOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if err := os.WriteFile(file, []byte("team-flux\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, env, file, want string }{
		{"Flux's environment comes first", "from-env", file, "from-env"},
		{"then the file of the service account", "", file, "team-flux"},
		{"an empty file says nothing", "", empty, "flux-system"},
		{"outside a pod it is Flux's own", "", filepath.Join(t.TempDir(), "none"), "flux-system"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := podNamespace(row.env, row.file); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// given is what the flags mean.
func given(t *testing.T, args ...string) (settings, resolved, error) {
	t.Helper()
	var s settings
	fs := flag.NewFlagSet("holder", flag.ContinueOnError)
	s.bind(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	r, err := s.resolve()
	return s, r, err
}

func TestWithoutFlagsTheHolderSeesEverythingAndNobodyElects(t *testing.T) {
	s, r, err := given(t)
	if err != nil || s.election || r.cancelsHealthChecks || !r.shard.Empty() || s.identity == "" {
		t.Errorf("got %+v, %+v, %v", s, r, err)
	}
	if s.address != ":9797" {
		t.Errorf("probes and scrapes come from outside the pod, and %q is served", s.address)
	}
}

func TestAShardIsWhatItsControllerSees(t *testing.T) {
	one, none := labels.Set{"sharding.fluxcd.io/key": "shard1"}, labels.Set{}
	for _, row := range []struct {
		selector  string
		one, none bool
	}{
		{"", true, true},
		{"sharding.fluxcd.io/key=shard1", true, false},
		{"sharding.fluxcd.io/key in (shard1, shard2)", true, false},
		{"!sharding.fluxcd.io/key", false, true},
	} {
		_, r, err := given(t, "--watch-label-selector="+row.selector)
		if err != nil || r.shard.Matches(one) != row.one || r.shard.Matches(none) != row.none {
			t.Errorf("%q: got %v, %v", row.selector, r.shard, err)
		}
	}
}

func TestOneNamespaceIsWatchedAsItsControllerDoes(t *testing.T) {
	for _, row := range []struct{ arg, env, want string }{
		{"--watch-all-namespaces", "flux-system", ""},
		{"--watch-all-namespaces=true", "flux-system", ""},
		{"--watch-all-namespaces=false", "flux-system", "flux-system"},
		{"--watch-all-namespaces=false", "", ""},
	} {
		t.Setenv("RUNTIME_NAMESPACE", row.env)
		if _, r, err := given(t, row.arg); err != nil || r.watched != row.want {
			t.Errorf("%s in %q: got %q, %v", row.arg, row.env, r.watched, err)
		}
	}
}

func TestOneFeatureGateMatters(t *testing.T) {
	for gates, want := range map[string]bool{
		"":                                     false,
		"CancelHealthCheckOnNewRevision=true":  true,
		"CancelHealthCheckOnNewRevision=false": false,
		" DirectSourceFetch=true, CancelHealthCheckOnNewRevision = 1":              true,
		"CancelHealthCheckOnNewRevision=true,CancelHealthCheckOnNewRevision=false": false,
		"DirectSourceFetch=true": false,
	} {
		if _, r, err := given(t, "--controller-feature-gates="+gates); err != nil || r.cancelsHealthChecks != want {
			t.Errorf("%q: got %v, %v", gates, r.cancelsHealthChecks, err)
		}
	}
}

func TestABadValueIsNamedWithItsFlag(t *testing.T) {
	for _, row := range []struct{ arg, want string }{
		{"--watch-label-selector=a b", "--watch-label-selector="},
		{"--watch-label-selector=weight>1", "--watch-label-selector="}, // the controller refuses it too
		{"--controller-feature-gates=CancelHealthCheckOnNewRevision", "is not name=true or name=false"},
		{"--controller-feature-gates=CancelHealthCheckOnNewRevision=yes", `"yes" is neither true nor false`},
		{"--controller-namespace=", "--controller-namespace"},
		{"--identity=", "--identity"},
	} {
		if _, _, err := given(t, row.arg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v", row.arg, err)
		}
	}
}

// injected is what of a patch of the injector a holder is told, and when kubelet gives up waiting for it.
type injected struct {
	Name         string
	Args         []string
	StartupProbe struct {
		HTTPGet                             struct{ Path string }
		InitialDelaySeconds, TimeoutSeconds int
		PeriodSeconds, FailureThreshold     int
	}
}

// holders are the containers that the injector's goldens add beside kustomize-controller.
func holders(t *testing.T) map[string]injected {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "injector", "inject", "testdata", "*", "want.patch.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]injected{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var patch []struct {
			Path  string
			Value json.RawMessage
		}
		if err := json.Unmarshal(text, &patch); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `: "argocd-application-controller"`) {
			continue // what a holder of Applications is told, none takes yet
		}
		for _, op := range patch {
			if !strings.HasPrefix(op.Path, "/spec/initContainers") {
				continue
			}
			value := op.Value
			if value[0] != '[' {
				value = slices.Concat([]byte("["), value, []byte("]"))
			}
			var containers []injected
			if err := json.Unmarshal(value, &containers); err != nil {
				t.Fatal(err)
			}
			for _, c := range containers {
				if c.Name == v1alpha1.HolderContainer {
					found[filepath.Base(filepath.Dir(file))] = c
				}
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("the goldens have %d holders: this test does not see them", len(found))
	}
	return found
}

func TestEveryHolderThatIsInjectedTakesItsFlags(t *testing.T) {
	t.Setenv(runtimeNamespace, "flux-system")
	for name, c := range holders(t) {
		var s settings
		fs := flag.NewFlagSet("holder", flag.ContinueOnError)
		s.bind(fs)
		args := make([]string, 0, len(c.Args))
		for _, arg := range c.Args {
			args = append(args, strings.ReplaceAll(regexp.MustCompile(`(^|[^$])\$\(\w+\)`).ReplaceAllString(arg, "${1}true"), "$$", "$"))
		}
		if err := fs.Parse(args); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.resolve(); err != nil || fs.NArg() > 0 {
			t.Errorf("%s: %q: %v", name, args, err)
		}
	}
}

func TestWhatAControllerTakesItsHolderTakesToo(t *testing.T) {
	for _, args := range [][]string{
		{"--controller-leader-election=true"}, {"--controller-leader-election=1"}, {"--controller-leader-election=F"},
		{"--watch-all-namespaces=false"}, {"--watch-all-namespaces=0"},
		{"--watch-label-selector=!sharding.fluxcd.io/key"}, {"--watch-label-selector=a in (b,c),d notin (e),f"},
		{"--controller-feature-gates=A=true,B=false,A=1"}, {"--controller-feature-gates="},
		{"--events-addr=http://user:password@notification-controller/"}, {"--events-addr=notification-controller"}, // no event is posted
	} {
		if _, _, err := given(t, args...); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestKubeletWaitsLongerForAHolderThanItsControllerDoes(t *testing.T) {
	const slow = 45 * time.Second // from the container's start to the first answer, at worst
	for name, c := range holders(t) {
		p := c.StartupProbe
		if p.HTTPGet.Path != "/startz" {
			t.Errorf("%s: %s is asked", name, p.HTTPGet.Path)
		}
		if p.PeriodSeconds != 1 || time.Duration(p.FailureThreshold*p.PeriodSeconds)*time.Second < mostStartBound+slow {
			t.Errorf("%s: kubelet gives up after %d times %ds, and a controller may wait for %s", name, p.FailureThreshold, p.PeriodSeconds, mostStartBound)
		}
	}
}

func TestTheBoundOfAStartIsWithinWhatTheProbeWaits(t *testing.T) {
	for _, row := range []struct {
		args  []string
		bound time.Duration
		wrong bool
	}{
		{nil, 30 * time.Second, false},
		{[]string{"--start-bound=0"}, 0, false},
		{[]string{"--start-bound=60s"}, time.Minute, false},
		{[]string{"--start-bound=61s"}, time.Minute, true},
		{[]string{"--start-bound=-1s"}, 0, true},
	} {
		if s, _, err := given(t, row.args...); s.bounded() != row.bound || (err != nil) != row.wrong {
			t.Errorf("%v: got %s, %v", row.args, s.bounded(), err)
		}
	}
}
