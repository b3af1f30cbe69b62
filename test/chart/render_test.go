package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var chartDir = filepath.Join("..", "..", "charts", "holdfast")

// values are what a person says over the chart's own.
type values = map[string]any

func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// install and upgrade are what helm says of a release.
var (
	install = common.ReleaseOptions{Name: "holdfast", Namespace: "holdfast-system", Revision: 1, IsInstall: true}
	upgrade = common.ReleaseOptions{Name: "holdfast", Namespace: "holdfast-system", Revision: 2, IsUpgrade: true}
)

// render returns what each template makes of the values, by its path in the chart; templates that make nothing are left out.
func render(t *testing.T, v values, o common.ReleaseOptions) (map[string]string, error) {
	t.Helper()
	c := load(t)
	all, err := util.ToRenderValues(c, v, o, nil)
	if err != nil {
		return nil, err
	}
	out, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for path, content := range out {
		if strings.TrimSpace(content) != "" {
			made[strings.TrimPrefix(path, "holdfast/templates/")] = content
		}
	}
	return made, nil
}

func mustRender(t *testing.T, v values, o common.ReleaseOptions) map[string]string {
	t.Helper()
	made, err := render(t, v, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// read returns the values in a file; an empty one has none.
func read(t *testing.T, path string) values {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := values{}
	if err := yaml.UnmarshalStrict(content, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// objects are the objects a template made.
func objects(t *testing.T, content string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+content, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) > 0 {
			found = append(found, o)
		}
	}
	return found
}

// all are the objects of a render, by `path: Kind namespace/name`.
func all(t *testing.T, made map[string]string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, path := range slices.Sorted(maps.Keys(made)) {
		if !strings.HasSuffix(path, ".yaml") {
			continue
		}
		for _, o := range objects(t, made[path]) {
			found[fmt.Sprintf("%s: %s %s/%s", path, o.GetKind(), o.GetNamespace(), o.GetName())] = o
		}
	}
	return found
}

// find returns the one object of a kind and name.
func find(t *testing.T, made map[string]string, kind, name string) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	for _, o := range all(t, made) {
		if o.GetKind() == kind && o.GetName() == name {
			if found != nil {
				t.Fatalf("there are two of %s %s", kind, name)
			}
			found = o
		}
	}
	if found == nil {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return found
}
