package inject

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// takesPort says that a container of the pod uses the holder's port: it declares it, or the controller's flags are an
// address with it. An address whose variables only the node knows is taken for another: few have the holder's port.
func takesPort(pod *corev1.Pod, given flags, env *environment) (string, bool) {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			for _, p := range c.Ports {
				if p.ContainerPort == v1alpha1.HolderPort && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
					return "container " + c.Name, true
				}
			}
		}
	}
	for _, name := range []string{"health-addr", "metrics-addr"} {
		if at, known := env.expand(given.last(name)); known && portIn(at) == v1alpha1.HolderPort {
			return "the controller's --" + name, true
		}
	}
	if at, known := env.expand(given.last("metrics-port")); known && number(at, 0) == v1alpha1.HolderPort {
		return "the controller's --metrics-port", true
	}
	return "", false
}

// portIn returns the port of an address as Go listens on it; 0 if it has none, or one by name.
func portIn(address string) int64 { return number(address[strings.LastIndex(address, ":")+1:], 10) }

// number reads a number of this base, where 0 is the base that the number says itself; 0 if it is none.
func number(text string, base int) int64 {
	n, err := strconv.ParseInt(text, base, 64)
	if err != nil {
		return 0
	}
	return n
}
