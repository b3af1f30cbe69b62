package inject

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// checkPatched checks what holds of every pod that got a holder.
func checkPatched(t testing.TB, pod []byte, r Result) {
	t.Helper()
	patched := apply(t, pod, r.Patch)
	if diff := cmp.Diff(without(t, pod), without(t, patched)); diff != "" {
		t.Errorf("the patch changes what is not ours (-before +after):\n%s", diff)
	}
	p := DefaultPolicy()
	p.ArgoCD.Enabled = true
	if again, err := Inject(patched, "", p, Room{}); err != nil || again.Skip != SkipAlreadyInjected || again.Patch != nil {
		t.Errorf("a second time: %v, %q, %d operations", err, again.Skip, len(again.Patch))
	}
	var after corev1.Pod
	if err := json.Unmarshal(patched, &after); err != nil {
		t.Fatal(err)
	}
	holders := 0
	for _, c := range slices.Concat(after.Spec.InitContainers, after.Spec.Containers) {
		if c.Name == v1alpha1.HolderContainer {
			holders++
			checkHolder(t, c)
		}
	}
	if holders != 1 {
		t.Errorf("there are %d containers of the holder's name", holders)
	}
	if after.Annotations[v1alpha1.InjectedAnnotation] != string(r.Flavour) {
		t.Errorf("the annotation says %q", after.Annotations[v1alpha1.InjectedAnnotation])
	}
}

// checkHolder checks a holder's container: B6, what Pod Security asks of each container at level restricted, and what
// makes it a sidecar that gates the controller.
func checkHolder(t testing.TB, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	switch {
	case s == nil, s.AllowPrivilegeEscalation == nil, *s.AllowPrivilegeEscalation, s.RunAsNonRoot == nil, !*s.RunAsNonRoot,
		s.RunAsUser != nil && *s.RunAsUser == 0, s.Capabilities == nil, len(s.Capabilities.Add) > 0,
		!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}), s.SeccompProfile == nil,
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault, s.Privileged != nil:
		t.Errorf("level restricted does not admit %+v", s)
	}
	if !isSidecar(c) || c.StartupProbe == nil || c.LivenessProbe == nil || c.Image == "" {
		t.Error("it is no sidecar that gates the controller")
	}
	if len(c.EnvFrom) > 0 {
		t.Errorf("it has ConfigMaps or Secrets whole: %v", c.EnvFrom)
	}
	own := map[string]int{}
	for _, e := range c.Env {
		own[e.Name]++
	}
	if own[namespaceVariable] != 1 || own[memoryVariable] > 1 {
		t.Errorf("the holder's own variables are not the only ones of their names: %v", c.Env)
	}
}

// without returns a pod as a tree, with what an injector may add taken out.
func without(t testing.TB, pod []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(pod, &tree); err != nil {
		t.Fatal(err)
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, v1alpha1.InjectedAnnotation)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	if spec, ok := tree["spec"].(map[string]any); ok {
		containers, _ := spec["initContainers"].([]any)
		containers = slices.DeleteFunc(containers, func(c any) bool {
			fields, _ := c.(map[string]any)
			return fields["name"] == v1alpha1.HolderContainer
		})
		if spec["initContainers"] = containers; len(containers) == 0 {
			delete(spec, "initContainers")
		}
	}
	return tree
}
