package chart

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// policyOf is what the injector makes of the policy in a render.
func policyOf(t *testing.T, v values) inject.Policy {
	t.Helper()
	text, _, err := unstructured.NestedString(find(t, mustRender(t, v, install), "ConfigMap", "holdfast-injector").Object, "data", "policy.yaml")
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
