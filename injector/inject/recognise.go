package inject

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What the pods of every known install have in common, beside the program that runs in them.
const (
	fluxLabel     = "app"
	fluxContainer = "manager"
	argoLabel     = "app.kubernetes.io/name"
	argoSuffix    = "-application-controller"
)

// Recognise returns which controller a pod runs, and in which of its containers; "" and nil for any other pod. It looks
// only at what a pod has from its template, so a pod is the same to it before it is made, while it runs and in a file.
func Recognise(pod *corev1.Pod) (Flavour, *corev1.Container) {
	if app := pod.Labels[fluxLabel]; app == string(Flux) || strings.HasPrefix(app, string(Flux)+"-") {
		for i := range pod.Spec.Containers {
			c := &pod.Spec.Containers[i]
			if c.Name == fluxContainer && repository(c.Image) == string(Flux) {
				return Flux, c
			}
		}
	}
	if strings.HasSuffix(pod.Labels[argoLabel], argoSuffix) {
		for i := range pod.Spec.Containers {
			if c := &pod.Spec.Containers[i]; program(c.Command) == string(ArgoCD) || program(c.Args) == string(ArgoCD) {
				return ArgoCD, c
			}
		}
	}
	return "", nil
}

// repository returns the last part of an image's name, without registry, tag and digest.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	name, _, _ = strings.Cut(name, ":") // what is left of a registry's port is before the last /
	return name
}

// program returns the name of the program that a command begins with; "" for an empty one.
func program(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return path.Base(command[0])
}
