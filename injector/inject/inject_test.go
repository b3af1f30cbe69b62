package inject

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWhatIsNoPodIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":           "",
		"a list":            "[]",
		"a broken object":   `{"metadata":`,
		"labels of numbers": `{"metadata":{"labels":{"app":1}}}`,
		"too much":          strings.Repeat(" ", maxPodBytes) + "{}",
	} {
		if r, err := Inject([]byte(text), "", DefaultPolicy(), Room{}); err == nil || r.Patch != nil {
			t.Errorf("%s: got %v, %v", name, r, err)
		}
	}
	if r, err := Inject([]byte(strings.Repeat(" ", maxPodBytes-2)+"{}"), "", DefaultPolicy(), Room{}); err != nil || r.Skip != SkipNotRecognised {
		t.Errorf("as much as is possible: got %v, %v", r, err)
	}
	if _, err := Inject(make([]byte, maxPodBytes+1), "", DefaultPolicy(), Room{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// JSON patch sees the last of two keys, and only keys of the right case.
func TestAPodIsReadAsItsPatchWillBeApplied(t *testing.T) {
	pod := string(readPod(t, filepath.Join("testdata", "flux-install", "pod.yaml")))
	for name, text := range map[string]string{
		"another case":    strings.Replace(pod, `"spec":{`, `"Spec":{"initContainers":[{"name":"a"}]},"spec":{`, 1),
		"a key twice":     strings.Replace(pod, `"spec":{`, `"spec":{"initContainers":[{"name":"a"}]},"spec":{`, 1),
		"null for a list": strings.Replace(pod, `"spec":{`, `"spec":{"initContainers":null,`, 1),
		"null for a map":  strings.Replace(pod, `"annotations":{`, `"annotations":null,"other":{`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if text == pod {
				t.Fatal("nothing was changed")
			}
			r, err := Inject([]byte(text), "", DefaultPolicy(), Room{})
			if err != nil || r.Skip != "" {
				t.Fatal(err, r.Why)
			}
			checkPatched(t, []byte(text), r)
		})
	}
}

func TestAPersonIsToldWhere(t *testing.T) {
	pod := readPod(t, filepath.Join("testdata", "flux-install", "pod.yaml"))
	for namespace, want := range map[string]string{
		"":       "a holder is added beside kustomize-controller",
		"gitops": "a holder is added beside kustomize-controller in namespace gitops",
	} {
		if r, err := Inject(pod, namespace, DefaultPolicy(), Room{}); err != nil || r.Why != want {
			t.Errorf("got %q, %v", r.Why, err)
		}
	}
}

func TestAPolicyIsNotChangedByAPodsAnnotations(t *testing.T) {
	p := DefaultPolicy()
	pod := readPod(t, filepath.Join("testdata", "image-and-resources-by-annotation", "pod.yaml"))
	if _, err := Inject(pod, "", p, Room{}); err != nil {
		t.Fatal(err)
	}
	if got := p.Resources.Limits.Memory(); got.Cmp(resource.MustParse("512Mi")) != 0 || p.Image != DefaultImage {
		t.Errorf("the policy now says %s, %s", got, p.Image)
	}
}
