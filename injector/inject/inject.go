package inject

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// maxPodBytes is more than the API server takes in one request.
const maxPodBytes = 4 << 20

// ErrTooLarge is returned for a pod that no API server would take.
var ErrTooLarge = errors.New("the pod is larger than 4 MiB")

// Inject returns what adds a holder to a pod, or why it is left alone. pod is a v1 Pod as JSON. The namespace is where it
// is made, for sentences only: nothing in the patch depends on it. The error is about what pod is, and never about what
// it says: nobody has to refuse a pod because of it.
func Inject(pod []byte, namespace string, p Policy) (Result, error) {
	if len(pod) > maxPodBytes {
		return Result{}, ErrTooLarge
	}
	// Keys that differ in case or come twice are one field to some readers and two to others. Going through a map settles
	// what the pod says as JSON patch sees it.
	var tree map[string]any
	if err := json.Unmarshal(pod, &tree); err != nil {
		return Result{}, fmt.Errorf("read the pod: %w", err)
	}
	settled, err := json.Marshal(tree)
	if err != nil {
		return Result{}, fmt.Errorf("read the pod: %w", err)
	}
	var decoded corev1.Pod
	if err := json.Unmarshal(settled, &decoded); err != nil {
		return Result{}, fmt.Errorf("read the pod: %w", err)
	}
	r := Look(&decoded, p)
	if r.Skip != "" {
		return r, nil
	}
	holder := corev1.Container{
		Name: v1alpha1.HolderContainer, Image: p.Image, ImagePullPolicy: p.PullPolicy, Command: []string{"/holder"},
		RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways), Resources: p.Resources,
	}
	r.Patch = patch(&decoded, r.Flavour, holder)
	r.Why = fmt.Sprintf("a holder is added beside %s", r.Flavour)
	return r, nil
}

// patch adds the container and the annotation, and the list and the map for them where there are none.
func patch(pod *corev1.Pod, f Flavour, holder corev1.Container) []Operation {
	annotation := Operation{Op: "add", Path: "/metadata/annotations/" + escape(v1alpha1.InjectedAnnotation), Value: string(f)}
	if pod.Annotations == nil {
		annotation = Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{v1alpha1.InjectedAnnotation: string(f)}}
	}
	container := Operation{Op: "add", Path: "/spec/initContainers/-", Value: holder}
	if pod.Spec.InitContainers == nil {
		container = Operation{Op: "add", Path: "/spec/initContainers", Value: []corev1.Container{holder}}
	}
	return []Operation{annotation, container}
}

// escape writes a name as a part of a JSON pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
