package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// With a holder the API server would refuse it: the holder's security context has what only Linux knows.
func TestAPodForWindowsIsLeftAsItIs(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*corev1.PodSpec)
		want   Skip
	}{
		"it says so itself":     {func(s *corev1.PodSpec) { s.OS = &corev1.PodOS{Name: corev1.Windows} }, SkipWindows},
		"the nodes it selects":  {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"} }, SkipWindows},
		"Linux is what we know": {func(s *corev1.PodSpec) { s.OS = &corev1.PodOS{Name: corev1.Linux} }, ""},
		"nodes with Linux too":  {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{corev1.LabelOSStable: "linux"} }, ""},
	} {
		pod := fluxPod(t)
		row.change(&pod.Spec)
		if r, _, _ := look(pod, DefaultPolicy()); r.Skip != row.want || !r.Skip.Missing() {
			t.Errorf("%s: got %q, missing: %t", name, r.Skip, r.Skip.Missing())
		}
	}
}

// The annotation is how the injector knows its own work, so it is not left off where there is no room for it.
func TestAPodWithoutRoomForOurAnnotationIsLeftAsItIs(t *testing.T) {
	ours := len(v1alpha1.InjectedAnnotation) + len(Flux)
	for name, row := range map[string]struct {
		free int
		had  string
		want Skip
	}{
		"it just fits":                          {ours, "", ""},
		"it does not":                           {ours - 1, "", SkipAnnotationsFull},
		"a longer one of that name gives way":   {0, strings.Repeat("x", len(Flux)), ""},
		"a shorter one does and is not enough":  {0, "x", SkipAnnotationsFull},
		"nothing is left and it would be added": {0, "", SkipAnnotationsFull},
	} {
		t.Run(name, func(t *testing.T) {
			pod := fluxPod(t)
			pod.Annotations = map[string]string{}
			used := row.free + len("a")
			if row.had != "" {
				pod.Annotations[v1alpha1.InjectedAnnotation] = row.had
				used += len(v1alpha1.InjectedAnnotation) + len(row.had)
			}
			pod.Annotations["a"] = strings.Repeat("y", validation.TotalAnnotationSizeLimitB-used)
			if err := validation.ValidateAnnotationsSize(pod.Annotations); err != nil {
				t.Fatalf("the API server does not take the pod as it is: %v", err)
			}
			r, _, _ := look(pod, DefaultPolicy())
			if r.Skip != row.want {
				t.Errorf("got %q, %s", r.Skip, r.Why)
			}
			pod.Annotations[v1alpha1.InjectedAnnotation] = string(Flux)
			if err := validation.ValidateAnnotationsSize(pod.Annotations); (err != nil) != (row.want != "") {
				t.Errorf("with the annotation the API server says %v", err)
			}
		})
	}
}
