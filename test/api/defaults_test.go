package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestWhatIsLeftOutIsFilledIn(t *testing.T) {
	for _, row := range []struct {
		says  string
		kind  string
		said  string
		there string
	}{
		{"a KubeProvider grants nothing", "KubeProvider", `{inCluster: true}`, `{inCluster: true}`},
		{"nor does one that begins to", "KubeProvider", `{inCluster: true, allowCrossNamespace: {}}`, `{inCluster: true, allowCrossNamespace: {appliers: false}}`},
		{"one that admits nobody stays so", "KubeProvider", `{inCluster: true, accessFrom: {namespaceSelectors: []}}`, `{inCluster: true, accessFrom: {namespaceSelectors: []}}`},
		{"a GitProvider admits main, and Holdfast commits", "GitProvider", `{url: "https://g/a"}`,
			`{url: "https://g/a", allowedBranches: [main], commit: {committer: {name: Holdfast, email: holdfast@holdfast.invalid}}}`},
		{"also where commit is empty", "GitProvider", `{url: "https://g/a", allowedBranches: [x], commit: {}}`,
			`{url: "https://g/a", allowedBranches: [x], commit: {committer: {name: Holdfast, email: holdfast@holdfast.invalid}}}`},
		{"a GitTarget mirrors this cluster into the root, 5s after the last and 30s after the first edit", "GitTarget", `{gitProviderRef: {name: g}, branch: main}`,
			`{gitProviderRef: {name: g}, kubeProviderRef: {name: default}, branch: main, path: ".", commit: {idleTimeout: 5s, maxDuration: 30s}}`},
		{"each of the two alone", "GitTarget", `{gitProviderRef: {name: g}, kubeProviderRef: {}, branch: main, commit: {idleTimeout: 0s}}`,
			`{gitProviderRef: {name: g}, kubeProviderRef: {name: default}, branch: main, path: ".", commit: {idleTimeout: 0s, maxDuration: 30s}}`},
		{"a WatchRule is as it is written", "WatchRule", `{gitTargetRef: {name: g}, rules: [{apiGroups: [""], resources: [pods]}]}`,
			`{gitTargetRef: {name: g}, rules: [{apiGroups: [""], resources: [pods]}]}`},
		{"a FluxTrigger waits for 30s of quiet, lets Flux prune, and holds nothing it stands on", "FluxTrigger", `{kustomizationRef: {namespace: ns, name: k}}`,
			`{kubeProviderRef: {name: default}, kustomizationRef: {namespace: ns, name: k}, quietPeriod: 30s, onDelete: Resume, selfManaged: Refuse}`},
	} {
		t.Run(row.says, func(t *testing.T) {
			o := read(t, row.kind, "defaulted", "spec: "+row.said)
			if err := admin.Create(t.Context(), o, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			want := read(t, row.kind, "", "spec: "+row.there)
			if diff := cmp.Diff(want.Object["spec"], o.Object["spec"]); diff != "" {
				t.Errorf("the spec is (-want +got)\n%s", diff)
			}
		})
	}
}

// A Go program that leaves a field out must not send its zero value, which would be refused or kept in place of the default.
func TestAGoClientGetsTheSameDefaults(t *testing.T) {
	in := metav1.ObjectMeta{Namespace: "team-a", Name: "defaulted"}
	for kind, row := range map[string]struct {
		object client.Object
		there  string
	}{
		"KubeProvider": {&v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: "defaulted"}, Spec: v1alpha1.KubeProviderSpec{InCluster: true}}, `{inCluster: true}`},
		"GitProvider": {&v1alpha1.GitProvider{ObjectMeta: in, Spec: v1alpha1.GitProviderSpec{URL: "https://g/a"}},
			`{url: "https://g/a", allowedBranches: [main], commit: {committer: {name: Holdfast, email: holdfast@holdfast.invalid}}}`},
		"GitTarget": {&v1alpha1.GitTarget{ObjectMeta: in, Spec: v1alpha1.GitTargetSpec{GitProviderRef: v1alpha1.LocalReference{Name: "g"}, Branch: "main"}},
			`{gitProviderRef: {name: g}, kubeProviderRef: {name: default}, branch: main, path: ".", commit: {idleTimeout: 5s, maxDuration: 30s}}`},
		"FluxTrigger": {&v1alpha1.FluxTrigger{ObjectMeta: in, Spec: v1alpha1.FluxTriggerSpec{KustomizationRef: v1alpha1.NamespacedReference{Namespace: "ns", Name: "k"}}},
			`{kubeProviderRef: {name: default}, kustomizationRef: {namespace: ns, name: k}, quietPeriod: 30s, onDelete: Resume, selfManaged: Refuse}`},
	} {
		t.Run(kind, func(t *testing.T) {
			if err := admin.Create(t.Context(), row.object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(row.object)
			if err != nil {
				t.Fatal(err)
			}
			want := read(t, kind, "", "spec: "+row.there)
			if diff := cmp.Diff(want.Object["spec"], got["spec"]); diff != "" {
				t.Errorf("the spec is (-want +got)\n%s", diff)
			}
		})
	}
}
