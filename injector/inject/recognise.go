package inject

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// What the pods of every known install have in common, beside the program that runs in them.
const (
	fluxLabel     = "app"
	fluxContainer = "manager"
	argoLabel     = "app.kubernetes.io/name"
	argoSuffix    = "-application-controller"

	anyServiceAccount = "*"
)

// fluxServiceAccounts are those kustomize-controller is installed with: by Flux, and by its own repository.
var fluxServiceAccounts = []string{"kustomize-controller", "default"}

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

// Look says whether a pod should have a holder and whether it has one, as Inject does, and returns no patch. With Skip ""
// it should have one and has none; SkipAlreadyInjected has one. It may be asked of a pod of any age.
func Look(pod *corev1.Pod, p Policy) Result {
	flavour, controller := Recognise(pod)
	skip := func(s Skip, format string, args ...any) Result {
		return Result{Flavour: flavour, Skip: s, Why: fmt.Sprintf(format, args...)}
	}
	if flavour == "" {
		return skip(SkipNotRecognised, "it is not a pod of kustomize-controller or argocd-application-controller")
	}
	rules := p.rules(flavour)
	account := serviceAccount(pod)
	_ = controller
	switch {
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return skip(SkipMirrorPod, "kubelet made it from a file of its node, which nothing here can change")
	case pod.DeletionTimestamp != nil:
		return skip(SkipEnding, "it is being deleted")
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return skip(SkipEnding, "it has ended")
	case hasHolder(pod) && pod.Annotations[v1alpha1.InjectedAnnotation] != "":
		return skip(SkipAlreadyInjected, "it has its holder")
	case hasContainer(pod, v1alpha1.HolderContainer):
		return skip(SkipNameTaken, "it has a container %s that the injector did not put there", v1alpha1.HolderContainer)
	case pod.Annotations[v1alpha1.InjectLabel] == v1alpha1.InjectDisabled:
		return skip(SkipOptedOut, "its annotation %s: %s asks for that", v1alpha1.InjectLabel, v1alpha1.InjectDisabled)
	case !rules.Enabled:
		return skip(SkipFlavourOff, "the injector's policy adds no holder beside %s", flavour)
	case !rules.admits(account):
		return skip(SkipServiceAccount, "it runs as ServiceAccount %s, and the injector's policy names %s", account, strings.Join(rules.ServiceAccounts, ", "))
	}
	return Result{Flavour: flavour, Why: fmt.Sprintf("it runs %s and has no holder", flavour)}
}

// rules are what the policy says of one controller, with the ServiceAccounts it leaves out.
func (p Policy) rules(f Flavour) Controller {
	c, known := p.Flux, fluxServiceAccounts
	if f == ArgoCD {
		c, known = p.ArgoCD, []string{anyServiceAccount} // every install names it otherwise, and the program says enough
	}
	if len(c.ServiceAccounts) == 0 {
		c.ServiceAccounts = known
	}
	return c
}

func (c Controller) admits(account string) bool {
	return slices.Contains(c.ServiceAccounts, account) || slices.Contains(c.ServiceAccounts, anyServiceAccount)
}

// serviceAccount is what a pod runs as, also before the API server wrote down its default.
func serviceAccount(pod *corev1.Pod) string {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return pod.Spec.ServiceAccountName
	case pod.Spec.DeprecatedServiceAccount != "":
		return pod.Spec.DeprecatedServiceAccount
	}
	return "default"
}

// hasHolder says that a pod has a container of the holder's name that starts before the others and outlives them.
func hasHolder(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == v1alpha1.HolderContainer && isSidecar(c)
	})
}

func isSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func hasContainer(pod *corev1.Pod, name string) bool {
	named := func(c corev1.Container) bool { return c.Name == name }
	return slices.ContainsFunc(pod.Spec.InitContainers, named) || slices.ContainsFunc(pod.Spec.Containers, named)
}
