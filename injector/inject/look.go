package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const outOfMesh = "run it as a native sidecar, or keep the pod out of the mesh"

// Look says whether a pod should have a holder and whether it has one, as Inject does, and returns no patch. With Skip ""
// it should have one and has none; with SkipAlreadyInjected it has one. It may be asked of a pod of any age. room is what
// its namespace allows now and has counted the pod: with SkipNoRoom the pod that takes its place could not have a holder.
func Look(pod *corev1.Pod, p Policy, room Room) Result {
	r, controller, _ := look(pod, p)
	if r.Skip != "" {
		return r
	}
	wanted, _ := resourcesOf(pod, p)
	if _, _, refused := room.take(pod, controller, wanted, true); refused != "" {
		r.Skip, r.Why = SkipNoRoom, noRoom(refused)
	}
	return r
}

func noRoom(refused string) string {
	return "with a holder it would be refused: " + refused
}

// look also returns the controller's container and its flags, for a pod that is not skipped.
func look(pod *corev1.Pod, p Policy) (Result, *corev1.Container, flags) {
	flavour, controller := Recognise(pod)
	r := Result{Flavour: flavour}
	if flavour == "" {
		r.Skip, r.Why = SkipNotRecognised, fmt.Sprintf("it is not a pod of %s or %s", Flux, ArgoCD)
		return r, nil, nil
	}
	if asked, found := pod.Annotations[v1alpha1.InjectLabel]; found && asked != v1alpha1.InjectDisabled {
		r.Warnings = append(r.Warnings, fmt.Sprintf("annotation %s: %.40q means nothing on a pod; %s leaves it alone",
			v1alpha1.InjectLabel, asked, v1alpha1.InjectDisabled))
	}
	r.Skip, r.Why = unwanted(pod, p.rules(flavour))
	if proxy := cutOff(pod); r.Skip == SkipAlreadyInjected && proxy != "" {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s came after the holder, takes its traffic and starts later, so that the controller may never start; %s", proxy, outOfMesh))
	}
	if r.Skip != "" {
		return r, nil, nil
	}
	var given flags
	if given, r.Skip, r.Why = possible(pod, flavour, controller, p.Args); r.Skip != "" {
		return r, nil, nil
	}
	r.Why = fmt.Sprintf("it runs %s and has no holder", flavour)
	return r, controller, given
}

// unwanted says why a pod of a controller needs no holder; "" if it needs one.
func unwanted(pod *corev1.Pod, rules Controller) (Skip, string) {
	account := serviceAccount(pod)
	switch {
	case pod.Annotations[corev1.MirrorPodAnnotationKey] != "":
		return SkipMirrorPod, "kubelet made it from a file of its node, which nothing here can change"
	case pod.DeletionTimestamp != nil:
		return SkipEnding, "it is being deleted"
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return SkipEnding, "it has ended"
	case hasHolder(pod) && pod.Annotations[v1alpha1.InjectedAnnotation] != "":
		return SkipAlreadyInjected, "it has its holder"
	case hasContainer(pod, v1alpha1.HolderContainer):
		return SkipNameTaken, fmt.Sprintf("it has a container %s that the injector did not put there", v1alpha1.HolderContainer)
	case pod.Annotations[v1alpha1.InjectLabel] == v1alpha1.InjectDisabled:
		return SkipOptedOut, fmt.Sprintf("its annotation %s: %s asks for that", v1alpha1.InjectLabel, v1alpha1.InjectDisabled)
	case !rules.Enabled:
		return SkipFlavourOff, "the injector's policy adds no holder beside this controller"
	case !rules.admits(account):
		return SkipServiceAccount, fmt.Sprintf("it runs as ServiceAccount %.63q, and the injector's policy names only %s; name it there too, which with the chart is flux.serviceAccount",
			account, strings.Join(rules.ServiceAccounts, ", "))
	}
	return "", ""
}

// possible says why a pod that needs a holder with these arguments besides those for its flags cannot have one; "" if it can,
// with the controller's flags.
func possible(pod *corev1.Pod, f Flavour, controller *corev1.Container, more []string) (flags, Skip, string) {
	if onWindows(pod) {
		return nil, SkipWindows, "it is for nodes with Windows, and the holder is a program for Linux"
	}
	env := environmentOf(controller.Env)
	args, ok := argumentsOf(controller, f, env)
	if !ok {
		return nil, SkipFlagsUnreadable, fmt.Sprintf("container %s does not start %s itself, so its flags cannot be read", controller.Name, f)
	}
	given, ok := readFlags(args, env)
	if !ok {
		return nil, SkipFlagsUnreadable, fmt.Sprintf("an argument of container %s may be any flag: it is a variable whose value is not in the pod or is very long", controller.Name)
	}
	holds, names := argumentsFor(f, given)
	if _, outside := reach(controller.Env, textsOf(controller, append(holds, more...)), names); tooManyKeys(controller.EnvFrom, outside) {
		return nil, SkipFlagsUnreadable, fmt.Sprintf("container %s has so many ConfigMaps and Secrets whole in its environment that more than %d variables of theirs may matter",
			controller.Name, maxKeys)
	}
	if by, taken := takesPort(pod, given, env); taken {
		return nil, SkipPortTaken, fmt.Sprintf("%s uses port %d, where a holder serves its probes", by, v1alpha1.HolderPort)
	}
	if mounts := pod.Spec.AutomountServiceAccountToken; mounts != nil && !*mounts && len(tokenMounts(controller)) == 0 {
		return nil, SkipNoCredentials, fmt.Sprintf("automountServiceAccountToken is false and container %s has no token at %s, so a holder would have none",
			controller.Name, tokenPath)
	}
	if _, proxy, ok := place(pod); !ok {
		return nil, SkipMeshInTheWay, fmt.Sprintf("%s is an ordinary container and takes the traffic of those that start before it; %s", proxy, outOfMesh)
	}
	if size := marked(pod, f); size > validation.TotalAnnotationSizeLimitB {
		return nil, SkipAnnotationsFull, fmt.Sprintf("with %s its annotations would come to %d bytes, and the API server takes %d",
			v1alpha1.InjectedAnnotation, size, validation.TotalAnnotationSizeLimitB)
	}
	return given, "", ""
}

// onWindows says that a pod is for nodes with Windows, by itself or by the nodes it selects.
func onWindows(pod *corev1.Pod) bool {
	return pod.Spec.OS != nil && pod.Spec.OS.Name == corev1.Windows || pod.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows)
}

// marked returns the size of a pod's annotations, in bytes as the API server counts them, when they say that it has a holder.
func marked(pod *corev1.Pod, f Flavour) int {
	size := len(v1alpha1.InjectedAnnotation) + len(f)
	for name, value := range pod.Annotations {
		if name != v1alpha1.InjectedAnnotation {
			size += len(name) + len(value)
		}
	}
	return size
}

// anyServiceAccount in a policy admits all.
const anyServiceAccount = "*"

// fluxServiceAccounts are those kustomize-controller is installed with: by Flux, and by its own repository.
var fluxServiceAccounts = []string{"kustomize-controller", "default"}

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
