package inject

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzInject: whatever is taken out of a pod, put into it or doubled in it, it is either left alone with a reason, or the
// patch applies, adds one holder and one annotation and nothing else, and a second time adds nothing. The text is read as
// edits of three bytes each to the pod of one golden.
func FuzzInject(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "pod.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no pods to begin with: %v", err)
	}
	pods := make([][]byte, 0, len(files))
	for i, file := range files {
		pods = append(pods, readPod(f, file))
		f.Add(uint8(i), "")
	}
	f.Add(uint8(0), "\x00\x08\x03\x00\x20\x0a\x00\x30\x07\x01\x00\x01")
	f.Fuzz(func(t *testing.T, which uint8, edits string) {
		if len(edits) > 3*32 {
			t.Skip("more edits than are worth the time")
		}
		var tree any
		if err := json.Unmarshal(pods[int(which)%len(pods)], &tree); err != nil {
			t.Fatal(err)
		}
		for ; len(edits) >= 3; edits = edits[3:] {
			places := placesOf(tree, nil)
			if len(places) == 0 {
				break
			}
			places[(int(edits[0])<<8|int(edits[1]))%len(places)](int(edits[2]))
		}
		pod, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		checkInjected(t, pod)
	})
}

// FuzzInjectText is the same of any text at all.
func FuzzInjectText(f *testing.F) {
	f.Add([]byte(`{"metadata":{"labels":{"app":"kustomize-controller"}},"spec":{"containers":[{"name":"manager","image":"kustomize-controller"}]}}`))
	f.Add([]byte(`{"metadata":{"labels":{"app":"kustomize-controller"}},"spec":{"containers":[{"name":"manager","image":"kustomize-controller",` +
		`"command":["tini","--","kustomize-controller"],"args":["$(B)"],"env":[{"name":"A","value":"--a"},{"name":"B","value":"$(A)$(A)"}],` +
		`"envFrom":[{"secretRef":{"name":"s"}}],"volumeMounts":[{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","subPathExpr":"$(C)"}]}]}}`))
	f.Add([]byte(`{"metadata":{"labels":{"app.kubernetes.io/name":"a-application-controller"},"annotations":null},"spec":{"initContainers":[],` +
		`"containers":[{"command":["argocd-application-controller"]}]}}`))
	f.Fuzz(func(t *testing.T, pod []byte) {
		if len(pod) > 1<<12 {
			t.Skip("larger than is worth the time")
		}
		checkInjected(t, pod)
	})
}

func checkInjected(t *testing.T, pod []byte) {
	policy := DefaultPolicy()
	policy.ArgoCD.Enabled = true
	r, err := Inject(pod, "", policy, Room{})
	switch {
	case err != nil && (r.Patch != nil || r.Skip != ""):
		t.Errorf("a result beside an error: %+v", r)
	case err != nil:
	case r.Why == "":
		t.Error("nobody is told why")
	case r.Skip != "" && r.Patch != nil:
		t.Errorf("a patch although it was skipped: %s", r.Why)
	case r.Skip == "":
		checkPatched(t, pod, r)
	}
	for _, w := range r.Warnings {
		if len(w) > 400 {
			t.Errorf("a warning of %d bytes", len(w))
		}
	}
}

// values are what an edit may put somewhere: what pods say where Inject looks, and what it does not expect there.
var values = []any{
	nil, []any{}, map[string]any{}, "", 9797.0, true, false, "holdfast-holder", "disabled", "Always", "istio-proxy", "istio-init",
	"$(A)$(", "--watch-label-selector", "--", "--events-addr=:$$(RUNTIME_NAMESPACE)", "HTTPS_PROXY", "HOLDFAST_NAMESPACE", "GOMEMLIMIT",
	"kustomize-controller", "argocd-application-controller", "manager", "-c", "1Gi", "-1",
	map[string]any{"name": "holdfast-holder", "restartPolicy": "Always"},
	map[string]any{"holdfast.dev/injected": "x", "holdfast.dev/holder-memory-limit": "1", "holdfast.dev/holder-image": "a b"},
	map[string]any{"name": "A", "value": "$(A)$(B)"},
	map[string]any{"name": "B", "value": "$(A)$(A)"}, map[string]any{"prefix": "A", "secretRef": map[string]any{"name": "s"}},
	map[string]any{"os": map[string]any{"name": "windows"}, "nodeSelector": map[string]any{}}, "tini", "dlv", "mirror.example/flux-kustomize-controller",
}

// placesOf returns an edit for each place in a tree, always in the same order: it takes the place out, doubles it, or puts
// a value there.
func placesOf(tree any, places []func(how int)) []func(how int) {
	switch node := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			places = append(places, func(how int) {
				if how == 0 {
					delete(node, key)
					return
				}
				node[key] = changed(node[key], how)
			})
			places = placesOf(node[key], places)
		}
	case []any:
		for i := range node {
			places = append(places, func(how int) { node[i] = changed(node[i], how) })
			places = placesOf(node[i], places)
		}
	}
	return places
}

// changed returns what stands in a place after an edit.
func changed(old any, how int) any {
	value := cloned(values[how%len(values)])
	switch node := old.(type) {
	case []any:
		if how%2 == 0 {
			return append(slices.Clone(node), value)
		}
	case map[string]any:
		if more, ok := value.(map[string]any); ok {
			maps.Copy(node, more)
			return node
		}
	}
	return value
}

// cloned returns a tree that shares nothing with another.
func cloned(tree any) any {
	switch node := tree.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range node {
			out[key] = cloned(value)
		}
		return out
	case []any:
		out := make([]any, 0, len(node))
		for _, value := range node {
			out = append(out, cloned(value))
		}
		return out
	}
	return tree
}
