package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestExamplesRender(t *testing.T) {
	for _, name := range []string{"flux2.yaml", "argo-cd.yaml"} {
		v := read(t, filepath.Join(chartDir, "examples", name))
		if len(v) == 0 {
			t.Errorf("%s says nothing", name)
		}
		mustRender(t, v, install)
	}
}

// The patch is a JSON patch within YAML, whose path names the label with its slash escaped.
func TestTheFluxInstanceLabelsItsNamespace(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(chartDir, "examples", "fluxinstance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var instance unstructured.Unstructured
	if err := yaml.UnmarshalStrict(content, &instance.Object); err != nil {
		t.Fatal(err)
	}
	patches, _, err := unstructured.NestedSlice(instance.Object, "spec", "kustomize", "patches")
	if err != nil || len(patches) != 1 {
		t.Fatalf("%v: %v", patches, err)
	}
	p := patches[0].(map[string]any)
	if target := p["target"].(map[string]any); target["kind"] != "Namespace" || target["namespace"] != nil {
		t.Errorf("it patches %v", target)
	}
	var operations []struct{ Op, Path, Value string }
	if err := yaml.UnmarshalStrict([]byte(p["patch"].(string)), &operations); err != nil || len(operations) != 1 {
		t.Fatalf("%v: %v", operations, err)
	}
	label := strings.ReplaceAll(strings.TrimPrefix(operations[0].Path, "/metadata/labels/"), "~1", "/")
	selector, _, err := unstructured.NestedStringMap(webhook(t), "namespaceSelector", "matchLabels")
	if err != nil || selector[label] != operations[0].Value || len(selector) != 1 {
		t.Errorf("it sets %s=%s, and the webhook asks for %v: %v", label, operations[0].Value, selector, err)
	}
}
