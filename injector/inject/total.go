package inject

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// total returns what a pod asks for in all, without its overhead: that of its containers and sidecars together, or of an
// init container beside the sidecars that started before it, whichever is more. What the pod itself says of cpu and memory
// counts instead. Source: PodRequests and PodLimits in k8s.io/component-helpers/resource@v0.36.3.
func total(pod *corev1.Pod) corev1.ResourceRequirements {
	all := corev1.ResourceRequirements{
		Requests: together(pod, requestsOf),
		Limits:   together(pod, func(r corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }),
	}
	if own := pod.Spec.Resources; own != nil {
		for _, name := range heldResources {
			if q, found := own.Requests[name]; found {
				all.Requests[name] = q
			}
			if q, found := own.Limits[name]; found {
				all.Limits[name] = q
			}
		}
	}
	return all
}

func requestsOf(r corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }

// together adds up one of a pod's lists over its containers; of is which.
func together(pod *corev1.Pod, of func(corev1.ResourceRequirements) corev1.ResourceList) corev1.ResourceList {
	all, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for _, c := range pod.Spec.Containers {
		add(all, of(c.Resources))
	}
	for _, c := range pod.Spec.InitContainers {
		list := of(c.Resources)
		if isSidecar(c) {
			add(all, list)
			add(sidecars, list)
			raise(most, sidecars)
			continue
		}
		turn := sidecars.DeepCopy()
		add(turn, list)
		raise(most, turn)
	}
	raise(all, most)
	return all
}

// add adds a list to another.
func add(to, list corev1.ResourceList) {
	for name, q := range list {
		sum := to[name].DeepCopy()
		sum.Add(q)
		to[name] = sum
	}
}

// raise makes each amount in a list at least that of another.
func raise(to, list corev1.ResourceList) {
	for name, q := range list {
		if now, found := to[name]; !found || q.Cmp(now) > 0 {
			to[name] = q.DeepCopy()
		}
	}
}

// wholeIsLimited says that a pod has an amount for all of its containers.
func wholeIsLimited(pod *corev1.Pod) bool {
	all := pod.Spec.Resources
	return all != nil && len(all.Requests)+len(all.Limits) > 0
}

// ofWhole returns what is wrong with the containers of a pod that has an amount for all of them: together they request no
// more, and none is limited to more. What a LimitRange gives a silent holder may be too much.
func ofWhole(pod *corev1.Pod) []fault {
	if !wholeIsLimited(pod) {
		return nil
	}
	var all []fault
	requests := together(pod, requestsOf)
	for _, name := range heldResources {
		sum := requests[name]
		if most, found := pod.Spec.Resources.Requests[name]; found && sum.Cmp(most) > 0 {
			all = append(all, fault{"whole request " + string(name),
				fmt.Sprintf("the pod requests %s of %s for all its containers, and with the holder's they come to %s", most.String(), name, sum.String())})
		}
		most, found := pod.Spec.Resources.Limits[name]
		for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
			if limit := c.Resources.Limits[name]; found && limit.Cmp(most) > 0 {
				all = append(all, fault{fmt.Sprintf("whole limit %s of %s", name, c.Name),
					fmt.Sprintf("the pod is limited to %s of %s, and %s to %s", most.String(), name, c.Name, limit.String())})
			}
		}
	}
	return all
}
