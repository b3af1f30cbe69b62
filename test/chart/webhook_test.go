package chart

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// webhook is the one webhook of the injector.
func webhook(t *testing.T) map[string]any {
	t.Helper()
	all, _, err := unstructured.NestedSlice(find(t, mustRender(t, nil, install), "MutatingWebhookConfiguration", "holdfast-injector").Object, "webhooks")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d webhooks: %v", len(all), err)
	}
	return all[0].(map[string]any)
}

// B1: nothing waits for the injector, and it is asked about no pod of its own.
func TestTheWebhookStopsNoPod(t *testing.T) {
	w := webhook(t)
	for field, want := range map[string]any{"failurePolicy": "Ignore", "reinvocationPolicy": "IfNeeded", "sideEffects": "None"} {
		if w[field] != want {
			t.Errorf("%s is %v, want %v", field, w[field], want)
		}
	}
	labels, _, _ := unstructured.NestedStringMap(w, "namespaceSelector", "matchLabels")
	if labels[v1alpha1.InjectLabel] != v1alpha1.InjectEnabled {
		t.Errorf("it is asked about namespaces with %v", labels)
	}
	if conditions, _, _ := unstructured.NestedSlice(w, "matchConditions"); len(conditions) != 1 {
		t.Errorf("its conditions are %v", conditions)
	}
}

// B4: whoever renders the configuration anew takes no certificate away.
func TestNoCertificateIsRendered(t *testing.T) {
	config, _, _ := unstructured.NestedMap(webhook(t), "clientConfig")
	if _, there := config["caBundle"]; there {
		t.Error("there is a caBundle")
	}
	for name, o := range all(t, mustRender(t, nil, install)) {
		if o.GetKind() == "Secret" {
			t.Errorf("%s", name)
		}
	}
}

func TestEveryNameIsOursAndKindsAreKept(t *testing.T) {
	for name, o := range all(t, mustRender(t, read(t, "testdata/everything/values.yaml"), install)) {
		switch o.GetKind() {
		case "CustomResourceDefinition", "KubeProvider":
			if o.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
				t.Errorf("%s goes with an uninstall", name)
			}
		default:
			if n := o.GetName(); len(n) < 9 || n[:9] != "holdfast-" {
				t.Errorf("%s may be somebody else's", name)
			}
		}
	}
}
