package inject

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// What a pod's annotations ask for and is not possible gives way to the policy, with a warning: a controller whose holder
// has other resources than somebody wanted is held, and one without a holder, or one that is refused, is not.

// imageOf returns the holder's image for this pod.
func imageOf(pod *corev1.Pod, p Policy) (string, []string) {
	asked, found := pod.Annotations[v1alpha1.HolderImageAnnotation]
	if !found {
		return p.Image, nil
	}
	if why := badImage(asked); why != "" {
		return p.Image, []string{fmt.Sprintf("annotation %s does not count: it names no image", v1alpha1.HolderImageAnnotation)}
	}
	return asked, nil
}

// resourcesOf returns the resources that the policy and the pod's annotations want for its holder.
func resourcesOf(pod *corev1.Pod, p Policy) (corev1.ResourceRequirements, []string) {
	if wholeIsLimited(pod) {
		// The pod has an amount for all of its containers, and one more container with its own might exceed it.
		return corev1.ResourceRequirements{}, nil
	}
	var warnings []string
	r := *p.Resources.DeepCopy()
	for _, name := range heldResources {
		keys := map[corev1.ResourceName][2]string{
			corev1.ResourceCPU:    {v1alpha1.HolderCPURequestAnnotation, v1alpha1.HolderCPULimitAnnotation},
			corev1.ResourceMemory: {v1alpha1.HolderMemoryRequestAnnotation, v1alpha1.HolderMemoryLimitAnnotation},
		}[name]
		request, why := annotated(pod, keys[0], r.Requests[name])
		warnings = append(warnings, why...)
		limit, why := annotated(pod, keys[1], r.Limits[name])
		warnings = append(warnings, why...)
		if !limit.IsZero() && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("annotations for the holder's %s do not count: a request of %s exceeds a limit of %s",
				name, request.String(), limit.String()))
			continue
		}
		if name == corev1.ResourceMemory && tooLittle(limit) {
			warnings = append(warnings, fmt.Sprintf("annotation %s does not count: %s is too little for a holder to start", keys[1], limit.String()))
			continue
		}
		set(&r.Requests, name, request)
		set(&r.Limits, name, limit)
	}
	return r, warnings
}

// annotated returns the quantity an annotation says, or the policy's.
func annotated(pod *corev1.Pod, key string, policy resource.Quantity) (resource.Quantity, []string) {
	text, found := pod.Annotations[key]
	if !found {
		return policy, nil
	}
	q, why := quantity(text)
	if why != "" {
		return policy, []string{fmt.Sprintf("annotation %s does not count: %.60s", key, why)}
	}
	return q, nil
}

// set adds a quantity that is not zero to a list that may be nil.
func set(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if q.IsZero() {
		return
	}
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q
}
