package inject

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Policy is what the one who runs the injector says of the holders it adds.
type Policy struct {
	Image      string            // of the holder's container
	PullPolicy corev1.PullPolicy // "": as Kubernetes chooses by the image's tag
	Resources  corev1.ResourceRequirements
	RunAsUser  *int64   // nil: the platform chooses, as OpenShift wants it
	Args       []string // added after those that are read from the controller
	Flux       Controller
	ArgoCD     Controller
}

// Controller says which pods of one controller get a holder.
type Controller struct {
	Enabled bool
	// ServiceAccounts are those the controller's pods may run as; "*" is any. Empty: those of the installs that are known.
	ServiceAccounts []string
}

// DefaultImage is the holder's image where nobody names one.
const DefaultImage = "ghcr.io/holdfast-gitops/holdfast:latest"

// DefaultPolicy returns what holds where a policy is silent.
func DefaultPolicy() Policy {
	user := int64(65532)
	return Policy{
		Image: DefaultImage,
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		RunAsUser: &user,
		Flux:      Controller{Enabled: true},
	}
}
