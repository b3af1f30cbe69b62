package chart

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// evicting turns on what asks for rights besides.
var evicting = values{"injector": values{"restartMissing": true}}

// The roles in files/rbac are made from the markers in the source, and everything in them is rendered: no more and no less.
func TestProgramsHaveTheRolesTheirSourceNames(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartDir, "files", "rbac", "*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("found %v: %v", files, err)
	}
	made := mustRender(t, evicting, install)
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

// What a value gives is left out while it is off, and docs/security.md says of which rights that is so.
func TestTheInjectorMayNotEvictUnlessItIsToldTo(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, m := range regexp.MustCompile("(?m)^\\| core \\| ([a-z/]+)[^|]* \\| [^|]+ \\| only with `injector.restartMissing`: ").FindAllStringSubmatch(string(page), -1) {
		said = append(said, m[1])
	}
	slices.Sort(said)
	off, on := mustRender(t, nil, install), mustRender(t, evicting, install)
	var given []string
	for _, kind := range []string{"ClusterRole", "Role"} {
		before := resources(t, find(t, off, kind, "holdfast-injector"))
		for _, resource := range resources(t, find(t, on, kind, "holdfast-injector")) {
			if !slices.Contains(before, resource) {
				given = append(given, resource)
			}
		}
	}
	slices.Sort(given)
	if diff := cmp.Diff(said, given); diff != "" || len(said) != 2 {
		t.Errorf("rights that a value gives (-docs/security.md +rendered):\n%s", diff)
	}
}

// resources are all those that a role names.
func resources(t *testing.T, o *unstructured.Unstructured) []string {
	t.Helper()
	var role rbacv1.ClusterRole // a Role has the same fields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, rule := range role.Rules {
		all = append(all, rule.Resources...)
	}
	return all
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
