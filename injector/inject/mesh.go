package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// meshes maps the proxy of a service mesh to the init container that turns the pod's traffic over to it.
var meshes = map[string]string{"istio-proxy": "istio-init", "linkerd-proxy": "linkerd-init"}

// place returns where among the init containers a holder can start: its index, or their number for the end.
//
// A proxy that is a sidecar itself is up when the containers after it start, and down after they stopped, so the end of the
// list is right. A proxy among the ordinary containers starts after all init containers. What turns the traffic over to it
// is then an init container too, and a holder has to be ready before that one runs; where the node's network does it
// instead, a holder cannot reach anything, would never be ready, and would keep the controller from starting. proxy is the
// name of such a proxy, "" if there is none.
func place(pod *corev1.Pod) (index int, proxy string, possible bool) {
	end := len(pod.Spec.InitContainers)
	for _, c := range pod.Spec.Containers {
		redirects, found := meshes[c.Name]
		if !found {
			continue
		}
		at := slices.IndexFunc(pod.Spec.InitContainers, func(i corev1.Container) bool { return i.Name == redirects })
		if at < 0 {
			return 0, c.Name, false
		}
		return at, c.Name, true
	}
	return end, "", true
}

// cutOff returns the proxy that keeps the holder a pod already has from reaching anything while it starts, "" if there is
// none. A mesh that injects after Holdfast can make it so.
func cutOff(pod *corev1.Pod) string {
	at, proxy, possible := place(pod)
	holder := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == v1alpha1.HolderContainer })
	if proxy != "" && (!possible || holder > at) {
		return proxy
	}
	return ""
}
