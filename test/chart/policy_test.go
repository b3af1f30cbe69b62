package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// The ConfigMap of the policy, and its key in it.
const policyObject, policyKey = "holdfast-injector", "policy.yaml"

func TestThePageOfTheCommandLineSaysWhereThePolicyIs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("the key `%s` of the ConfigMap `%s`;", policyKey, policyObject); !strings.Contains(string(page), want) {
		t.Errorf("docs/cli.md does not say %s", want)
	}
}

// policyOf is what the injector makes of the policy in a render.
func policyOf(t *testing.T, v values) inject.Policy {
	t.Helper()
	text, _, err := unstructured.NestedString(find(t, mustRender(t, v, install), "ConfigMap", policyObject).Object, "data", policyKey)
	if err != nil {
		t.Fatal(err)
	}
	p, err := inject.ParsePolicy([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

func TestTheInjectorIsToldWhatTheValuesSay(t *testing.T) {
	for _, dir := range cases(t) {
		if p := policyOf(t, read(t, filepath.Join(dir, "values.yaml"))); p.ArgoCD.Enabled {
			t.Errorf("%s: Argo CD's pods would get a holder that holds Kustomizations", dir)
		}
	}
	want := inject.DefaultPolicy()
	want.Image, want.PullPolicy, want.Args = "ghcr.io/holdfast-gitops/holdfast:"+load(t).Metadata.AppVersion, corev1.PullIfNotPresent, []string{"--log-level=INFO"}
	want.Flux.ServiceAccounts = []string{"kustomize-controller"}
	if diff := cmp.Diff(want, policyOf(t, nil)); diff != "" {
		t.Errorf("nothing said (-want +got):\n%s", diff)
	}
	user := int64(1000)
	want = inject.Policy{
		Image: "registry.example.org/team/holder:v9.9.8", PullPolicy: corev1.PullAlways, RunAsUser: &user,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("20m"), "memory": resource.MustParse("70Mi")},
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("300Mi")},
		},
		Args: []string{"--log-level=DEBUG", "--kubeconfig="},
		Flux: inject.Controller{Enabled: true, ServiceAccounts: []string{"kustomize-controller"}},
	}
	if diff := cmp.Diff(want, policyOf(t, read(t, filepath.Join("testdata", "everything", "values.yaml")))); diff != "" {
		t.Errorf("everything said (-want +got):\n%s", diff)
	}
	if p := policyOf(t, values{"runAsUser": nil}); p.RunAsUser != nil {
		t.Errorf("the platform is to choose the user, and %d is", *p.RunAsUser)
	}
}

// word is a literal that may name a flag, in a template or in Go.
var word = regexp.MustCompile(`"(?:--)?([a-z][a-z0-9-]+)"`)

// A flag that the injector would refuse is refused before it is installed, and no other. That is tried with every word that
// either of them has, so that a flag which one learns of and the other does not is found.
func TestTheChartRefusesTheFlagsTheInjectorRefuses(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "injector", "inject", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source: %v", err)
	}
	words := map[string]bool{}
	for _, file := range append(files, filepath.Join(chartDir, "templates", "_policy.tpl")) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range word.FindAllStringSubmatch(string(content), -1) {
			words[m[1]] = true
		}
	}
	c := load(t)
	c.Templates = slices.DeleteFunc(c.Templates, func(f *common.File) bool { // the rest says nothing of a policy
		return filepath.Ext(f.Name) != ".tpl" && f.Name != "templates/injector/configmap.yaml"
	})
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(words)) {
		arg := "--" + name + "=x"
		_, byInjector := inject.ParsePolicy([]byte("image: i\nargs: [" + arg + "]"))
		v, err := util.ToRenderValues(c, values{"holder": values{"extraArgs": []any{arg}}}, install, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, byChart := engine.Render(c, v)
		if (byInjector == nil) != (byChart == nil) {
			t.Errorf("%s: the injector says %v, the chart %v", arg, byInjector, byChart)
		}
		if byInjector != nil {
			refused++
		}
	}
	if refused < 8 {
		t.Errorf("of %d words only %d are refused", len(words), refused)
	}
}
