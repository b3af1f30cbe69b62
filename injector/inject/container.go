package inject

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	portName = "http-holdfast"

	// tokenPath is where a program finds the token of its pod's ServiceAccount.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

	// The variables that are the holder's own: where it runs, and what Go's runtime may use.
	namespaceVariable = "HOLDFAST_NAMESPACE"
	memoryVariable    = "GOMEMLIMIT"

	// controllerNamespaceVariable is the only namespace kustomize-controller watches without --watch-all-namespaces.
	controllerNamespaceVariable = "RUNTIME_NAMESPACE"
	// applicationNamespacesVariable is what argocd-application-controller reads where the flag is not given.
	applicationNamespacesVariable = "ARGOCD_APPLICATION_NAMESPACES"
)

// kubelet starts the controller when the startup probe has passed, which the holder sees to within its --start-bound, ready or
// not: 30 s, and a minute at most. One that does not within two minutes is started anew; one that is stuck for a minute also. A
// holder that is told to stop takes five seconds, and its pod's own grace may be far longer.
const (
	startupPeriod    = 1
	startupFailures  = 120
	livenessPeriod   = 10
	livenessFailures = 6
	probeGrace       = 10
)

// holderOf returns the holder's container, with these resources, for a pod whose controller runs in c with these flags.
func holderOf(pod *corev1.Pod, f Flavour, c *corev1.Container, given flags, resources corev1.ResourceRequirements, p Policy) (corev1.Container, []string) {
	image, warnings := imageOf(pod, p)
	args, variables := argumentsFor(f, given)
	args = append(args, p.Args...)
	env := append([]corev1.EnvVar{fromField(namespaceVariable, "metadata.namespace")}, copied(c, textsOf(c, args), variables)...)
	if _, limited := resources.Limits[corev1.ResourceMemory]; limited {
		env = append(env, corev1.EnvVar{Name: memoryVariable, ValueFrom: &corev1.EnvVarSource{
			ResourceFieldRef: &corev1.ResourceFieldSelector{ContainerName: v1alpha1.HolderContainer, Resource: "limits.memory"},
		}})
	}
	holder := corev1.Container{
		Name:                     v1alpha1.HolderContainer,
		Image:                    image,
		ImagePullPolicy:          p.PullPolicy,
		Command:                  []string{"/holder"},
		Args:                     args,
		Ports:                    []corev1.ContainerPort{{Name: portName, ContainerPort: v1alpha1.HolderPort, Protocol: corev1.ProtocolTCP}},
		Env:                      env,
		Resources:                resources,
		RestartPolicy:            ptr.To(corev1.ContainerRestartPolicyAlways),
		VolumeMounts:             tokenMounts(c),
		LivenessProbe:            probe("/healthz", livenessPeriod, livenessFailures),
		StartupProbe:             probe("/startz", startupPeriod, startupFailures),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			ReadOnlyRootFilesystem:   ptr.To(true),
			RunAsNonRoot:             ptr.To(true),
			RunAsUser:                p.RunAsUser,
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	return holder, warnings
}

// ownFlags are the flags of the holder that argumentsFor gives a value, which a policy may not.
var ownFlags = []string{
	"application-namespaces", "controller-feature-gates", "controller-leader-election", "controller-namespace", "events-addr",
	"metrics-bind-address", "watch-all-namespaces", "watch-label-selector",
}

// argumentsFor returns the holder's arguments beside a controller with these flags, and the names of the variables it
// reads besides those its arguments refer to.
func argumentsFor(f Flavour, given flags) (args, variables []string) {
	args = []string{
		fmt.Sprintf("--metrics-bind-address=:%d", v1alpha1.HolderPort),
		fmt.Sprintf("--controller-namespace=$(%s)", namespaceVariable),
	}
	variables = networkVariables
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	if f == ArgoCD {
		add("application-namespaces", given.list("application-namespaces"))
		return args, append([]string{applicationNamespacesVariable}, variables...)
	}
	add("controller-leader-election", given.last("enable-leader-election"))
	add("controller-feature-gates", given.list("feature-gates"))
	add("watch-label-selector", given.last("watch-label-selector"))
	if all := given.last("watch-all-namespaces"); all != "" && all != "true" {
		add("watch-all-namespaces", all)
		variables = append([]string{controllerNamespaceVariable}, variables...)
	}
	add("events-addr", given.last("events-addr"))
	return args, variables
}

func fromField(name, field string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}}}
}

func probe(path string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:                  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(portName)}},
		PeriodSeconds:                 period,
		TimeoutSeconds:                2,
		FailureThreshold:              failures,
		TerminationGracePeriodSeconds: ptr.To(int64(probeGrace)),
	}
}

// tokenMounts returns what container c has mounted where a token is looked for. In a pod on its way into the cluster that
// is what the API server mounts, unless it was told not to and somebody did it by hand.
func tokenMounts(c *corev1.Container) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for _, m := range c.VolumeMounts {
		if at := path.Clean(m.MountPath); at == tokenPath || strings.HasPrefix(at, tokenPath+"/") {
			mounts = append(mounts, *m.DeepCopy())
		}
	}
	return mounts
}
