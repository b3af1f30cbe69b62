package inject

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The holder's flags are defined where nothing of the injector may look, so the source is read as text.
func TestTheHolderKnowsEveryFlagItIsGiven(t *testing.T) {
	source, err := os.ReadFile(filepath.Join("..", "..", "sidecar", "flags.go"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`Var\(&s\.\w+, "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		known[m[1]] = true
	}
	given := flags{
		"enable-leader-election": {"true"}, "events-addr": {"a"}, "feature-gates": {"A=true"},
		"watch-all-namespaces": {"false"}, "watch-label-selector": {"a=b"}, "application-namespaces": {"a"},
	}
	said := map[string]bool{}
	for _, f := range []Flavour{Flux, ArgoCD} {
		args, _ := argumentsFor(f, given)
		for _, arg := range args {
			name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if said[name] = true; f == Flux && !known[name] {
				t.Errorf("--%s is given to a holder that knows %v", name, slices.Sorted(maps.Keys(known)))
			}
		}
	}
	if got := slices.Sorted(maps.Keys(said)); !slices.Equal(got, ownFlags) {
		t.Errorf("the injector says %v, and a policy may not say %v", got, ownFlags)
	}
}
