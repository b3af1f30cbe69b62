package inject

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// maxPodBytes is more than the API server takes in one request.
const maxPodBytes = 4 << 20

// ErrTooLarge is returned for a pod that no API server would take.
var ErrTooLarge = errors.New("the pod is larger than 4 MiB")

// Inject returns what adds a holder to a pod, or why it is left alone. pod is a v1 Pod as JSON; namespace is where it is
// made, "" if that is not known. It is for sentences only: no patch depends on it. room is what that namespace allows now;
// what its quotas have counted does not include this pod. The error is about what pod is, and never about what
// it says: nobody has to refuse a pod because of it.
func Inject(pod []byte, namespace string, p Policy, room Room) (Result, error) {
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
	r, controller, given := look(&decoded, p)
	if r.Skip != "" {
		return r, nil
	}
	wanted, warnings := resourcesOf(&decoded, p)
	resources, instead, refused := room.take(&decoded, controller, wanted, false)
	if refused != "" {
		r.Skip, r.Why = SkipNoRoom, noRoom(refused)
		return r, nil
	}
	if instead != "" {
		warnings = append(warnings, instead)
	}
	holder, more := holderOf(&decoded, r.Flavour, controller, given, resources, p)
	warnings = append(more, warnings...)
	index, proxy, _ := place(&decoded)
	if proxy != "" {
		warnings = append(warnings, fmt.Sprintf("%s is no native sidecar and stops with the controller: "+
			"the holder's last suspend may not reach the API server, and the next holder sends it", proxy))
	}
	if decoded.Spec.HostNetwork {
		warnings = append(warnings, fmt.Sprintf("the pod is on its node's network: the holder takes port %d of the node", v1alpha1.HolderPort))
	}
	r.Warnings = append(r.Warnings, warnings...)
	r.Patch = patch(&decoded, r.Flavour, holder, index)
	r.Why = fmt.Sprintf("a holder is added beside %s", r.Flavour)
	if namespace != "" {
		r.Why += " in namespace " + namespace
	}
	return r, nil
}

// patch adds the container and the annotation, and the list and the map for them where there are none.
func patch(pod *corev1.Pod, f Flavour, holder corev1.Container, index int) []Operation {
	annotation := Operation{Op: "add", Path: "/metadata/annotations/" + escape(v1alpha1.InjectedAnnotation), Value: string(f)}
	if pod.Annotations == nil {
		annotation = Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{v1alpha1.InjectedAnnotation: string(f)}}
	}
	container := Operation{Op: "add", Path: "/spec/initContainers/-", Value: holder}
	switch {
	case pod.Spec.InitContainers == nil:
		container = Operation{Op: "add", Path: "/spec/initContainers", Value: []corev1.Container{holder}}
	case index < len(pod.Spec.InitContainers):
		container.Path = fmt.Sprintf("/spec/initContainers/%d", index)
	}
	return []Operation{annotation, container}
}

// escape writes a name as a part of a JSON pointer (RFC 6901).
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
