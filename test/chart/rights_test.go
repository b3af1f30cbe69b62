package chart

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// The roles in files/rbac are made from the markers in the source, and everything in them is rendered: no more and no less.
func TestProgramsHaveTheRolesTheirSourceNames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartDir, "files", "rbac", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("found %v: %v", files, err)
	}
	made := mustRender(t, nil, install)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(content, []byte("---\n")) {
			var want unstructured.Unstructured
			if err := yaml.Unmarshal(document, &want.Object); err != nil {
				t.Fatal(err)
			}
			if len(want.Object) == 0 {
				continue
			}
			got := find(t, made, want.GetKind(), want.GetName())
			if diff := cmp.Diff(want.Object["rules"], got.Object["rules"]); diff != "" {
				t.Errorf("%s %s (-generated +rendered):\n%s", want.GetKind(), want.GetName(), diff)
			}
		}
	}
}

// Whoever is bound is a ServiceAccount of the chart's, or the one the values say a controller runs as.
func TestNobodyElseIsBound(t *testing.T) {
	for _, row := range []struct{ dir, holder string }{
		{"default", "flux-system/kustomize-controller"},
		{"flux", "gitops/kustomizer"},
		{"argocd", ""},
		{"everything", "flux-system/kustomize-controller"},
	} {
		made := mustRender(t, read(t, filepath.Join("testdata", row.dir, "values.yaml")), install)
		subjects := map[string]bool{}
		for name, o := range all(t, made) {
			if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
				continue
			}
			var b rbacv1.ClusterRoleBinding
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, s := range b.Subjects {
				subjects[s.Namespace+"/"+s.Name] = true
			}
		}
		want := []string{"holdfast-system/holdfast-gitmirror", "holdfast-system/holdfast-injector", "holdfast-system/holdfast-uninstall"}
		if row.holder != "" {
			want = append(want, row.holder)
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(subjects)); !slices.Equal(got, want) {
			t.Errorf("%s: %v are bound, want %v", row.dir, got, want)
		}
	}
}

// The uninstall has what the command asks for, and may neither create anything nor read a Secret.
func TestTheUninstallMayOnlyHandBack(t *testing.T) {
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, mustRender(t, nil, install), "ClusterRole", "holdfast-uninstall").Object, &role); err != nil {
		t.Fatal(err)
	}
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			if !slices.Contains([]string{"get", "list", "delete", "patch"}, verb) || verb == "delete" && !slices.Equal(rule.Resources, []string{"fluxtriggers"}) {
				t.Errorf("it may %s %v", verb, rule.Resources)
			}
		}
		if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "*") || slices.Contains(rule.APIGroups, "*") {
			t.Errorf("it may touch %v", rule)
		}
	}
}
