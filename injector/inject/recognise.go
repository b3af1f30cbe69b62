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
			if c.Name == fluxContainer && isFlux(repository(c.Image), app) {
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

// isFlux says that an image of this name, in a pod with this label, is kustomize-controller. Mirrors put the repository's
// owner before the name or the kind of the build after it, so it may be among other words. A pod whose label and image go
// on alike is a program of that longer name: the label of a shard goes on with the shard's name, which no image has.
func isFlux(name, app string) bool {
	if name == string(Flux) {
		return true
	}
	before, after, found := strings.Cut(name, string(Flux))
	return found && (before == "" || strings.ContainsAny(before[len(before)-1:], parts)) &&
		(after == "" || strings.ContainsAny(after[:1], parts)) && (app == string(Flux) || !strings.HasSuffix(name, app))
}

// parts are what stands between the words of an image's name.
const parts = "-_."

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
