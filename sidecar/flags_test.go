package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
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
