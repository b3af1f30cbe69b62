package chart

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// templates are the pods of a render.
func templates(t *testing.T, dir string) map[string]corev1.PodTemplateSpec {
	t.Helper()
	found := map[string]corev1.PodTemplateSpec{}
	for name, o := range all(t, mustRender(t, read(t, filepath.Join(dir, "values.yaml")), install)) {
		template, ok, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil || !ok {
			continue
		}
		var pod corev1.PodTemplateSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(template, &pod, true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = pod
	}
	if len(found) != 3 {
		t.Fatalf("%s: %d pods, want injector, gitmirror and uninstall", dir, len(found))
	}
	return found
}

// B6: with the checks of the API server's own admission, at their latest.
func TestEveryPodIsAdmittedWhereRestrictedIsEnforced(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, dir := range cases(t) {
		for name, pod := range templates(t, dir) {
			for _, r := range checks.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				if !r.Allowed {
					t.Errorf("%s, %s: %s: %s", dir, name, r.ForbiddenReason, r.ForbiddenDetail)
				}
			}
		}
	}
}

// B7: a quota on requests and limits turns away a pod without them.
func TestEveryContainerHasRequestsAndLimits(t *testing.T) {
	for name, pod := range templates(t, filepath.Join("testdata", "default")) {
		for _, c := range pod.Spec.Containers {
			for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
				for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
					if amount := list[resource]; amount.IsZero() {
						t.Errorf("%s: container %s lacks %s", name, c.Name, resource)
					}
				}
			}
			if !strings.HasPrefix(c.Command[0], "/") || len(c.Command) != 1 {
				t.Errorf("%s: %v is no program of the image", name, c.Command)
			}
		}
	}
}
