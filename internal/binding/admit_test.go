package binding

import (
	"testing"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAKubeProviderAdmitsNamespacesByTheirLabels(t *testing.T) {
	from := func(selectors ...map[string]string) *v1alpha1.AccessFrom {
		f := &v1alpha1.AccessFrom{}
		for _, s := range selectors {
			f.NamespaceSelectors = append(f.NamespaceSelectors, v1alpha1.NamespaceSelector{MatchLabels: s})
		}
		return f
	}
	type labels = map[string]string
	for _, row := range []struct {
		says   string
		from   *v1alpha1.AccessFrom
		labels labels
		want   bool
	}{
		{"without accessFrom every namespace", nil, nil, true},
		{"by no selector nobody", from(), labels{"team": "a"}, false},
		{"by a selector that wants nothing everybody", from(nil), nil, true},
		{"by a label", from(labels{"team": "a"}), labels{"team": "a", "x": "y"}, true},
		{"not by another value", from(labels{"team": "a"}), labels{"team": "b"}, false},
		{"not by an empty value in place of no label", from(labels{"team": ""}), nil, false},
		{"not by one label of two", from(labels{"team": "a", "env": "prod"}), labels{"team": "a"}, false},
		{"by the second selector", from(labels{"team": "a"}, labels{"env": "prod"}), labels{"env": "prod"}, true},
		{"by its name, also while its labels are not known", from(labels{"kubernetes.io/metadata.name": "shop"}), nil, true},
		{"not by a name somebody wrote into its labels", from(labels{"kubernetes.io/metadata.name": "bank"}), labels{"kubernetes.io/metadata.name": "bank"}, false},
	} {
		t.Run(row.says, func(t *testing.T) {
			p := &v1alpha1.KubeProvider{Spec: v1alpha1.KubeProviderSpec{AccessFrom: row.from}}
			if got := Admits(p, "shop", row.labels); got != row.want {
				t.Errorf("admitted: %t, want %t", got, row.want)
			}
		})
	}
	if Admits(nil, "shop", nil) {
		t.Error("a KubeProvider that does not exist admits somebody")
	}
}

func TestAGitProviderAllowsBranchesByGlobs(t *testing.T) {
	for _, row := range []struct {
		globs  []string
		branch string
		want   bool
	}{
		{nil, "main", true},
		{nil, "dev", false},
		{[]string{"dev"}, "main", false},
		{[]string{"main", "release/*"}, "release/1", true},
		{[]string{"release/*"}, "release/1/2", false},
		{[]string{"["}, "[", false},
	} {
		p := &v1alpha1.GitProvider{Spec: v1alpha1.GitProviderSpec{AllowedBranches: row.globs}}
		if got := AllowsBranch(p, row.branch); got != row.want {
			t.Errorf("%v allows %s: %t, want %t", row.globs, row.branch, got, row.want)
		}
	}
}
