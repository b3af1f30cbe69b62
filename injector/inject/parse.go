package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// document is a policy as a file says it.
type document struct {
	Image           string              `json:"image"`
	ImagePullPolicy corev1.PullPolicy   `json:"imagePullPolicy"`
	Resources       map[string]amounts  `json:"resources"`
	RunAsUser       *int64              `json:"runAsUser"`
	Args            []string            `json:"args"`
	Flux            *controllerDocument `json:"flux"`
	ArgoCD          *controllerDocument `json:"argocd"`
}

type controllerDocument struct {
	Enabled         *bool    `json:"enabled"`
	ServiceAccounts []string `json:"serviceAccounts"`
}

// amounts are quantities by the name of a resource.
type amounts map[corev1.ResourceName]amount

// amount is a quantity as somebody wrote it: as text, or as a bare number.
type amount string

// UnmarshalJSON takes a string or a number.
func (a *amount) UnmarshalJSON(data []byte) error {
	if !strings.HasPrefix(string(data), `"`) {
		*a = amount(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(a))
}

// ParsePolicy reads a policy from one YAML or JSON document, of these fields:
//
//	image: ghcr.io/holdfast-gitops/holdfast:v1.2.3   # needed
//	imagePullPolicy: IfNotPresent                    # left to Kubernetes
//	resources:                                       # 10m and 64Mi, at most 1 and 512Mi
//	  requests: {cpu: 10m, memory: 64Mi}
//	  limits: {cpu: "1", memory: 512Mi}
//	runAsUser: 65532                                 # 65532; null leaves it to the platform
//	args: []                                         # more flags for the holder
//	flux: {enabled: true, serviceAccounts: []}       # true; the ServiceAccounts of the known installs
//	argocd: {enabled: false}
//
// What a comment says holds where a field is left out. A field that is unknown, doubled, of another type or not possible
// is an error that names it.
func ParsePolicy(data []byte) (Policy, error) {
	p := DefaultPolicy()
	d := document{RunAsUser: p.RunAsUser}
	if err := yaml.UnmarshalStrict(data, &d); err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	var errs []error
	wrong := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	p.Image, p.PullPolicy, p.RunAsUser, p.Args = d.Image, d.ImagePullPolicy, d.RunAsUser, d.Args
	if why := badImage(p.Image); why != "" {
		wrong("image", "%s", why)
	}
	switch p.PullPolicy {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
	default:
		wrong("imagePullPolicy", "%q is none of Always, IfNotPresent, Never", p.PullPolicy)
	}
	if p.RunAsUser != nil && *p.RunAsUser < 1 {
		wrong("runAsUser", "%d is not a user other than root; null leaves it to the platform", *p.RunAsUser)
	}
	for i, arg := range p.Args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case !strings.HasPrefix(arg, "--") || name == "":
			wrong(fmt.Sprintf("args[%d]", i), "%q is not a flag as --name=value", arg)
		case slices.Contains(ownFlags, name):
			wrong(fmt.Sprintf("args[%d]", i), "--%s is said by the injector, pod by pod", name)
		}
	}
	d.resources(&p.Resources, wrong)
	d.Flux.into(&p.Flux, "flux", wrong)
	d.ArgoCD.into(&p.ArgoCD, "argocd", wrong)
	if p.ArgoCD.Enabled {
		wrong("argocd.enabled", "it must be false: this version's holder holds Kustomizations only")
	}
	if err := errors.Join(errs...); err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	return p, nil
}

// resources puts what the document says over the defaults.
func (d document) resources(into *corev1.ResourceRequirements, wrong func(field, format string, args ...any)) {
	lists := map[string]corev1.ResourceList{"requests": into.Requests, "limits": into.Limits}
	for _, kind := range slices.Sorted(maps.Keys(d.Resources)) {
		list, ok := lists[kind]
		if !ok {
			wrong("resources."+kind, "there are only requests and limits")
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(d.Resources[kind])) {
			field := fmt.Sprintf("resources.%s.%s", kind, name)
			q, why := quantity(string(d.Resources[kind][name]))
			switch {
			case !slices.Contains(heldResources, name):
				wrong(field, "a holder asks for cpu and memory only")
			case why != "":
				wrong(field, "%s", why)
			default:
				list[name] = q
			}
		}
	}
	for _, name := range heldResources {
		if request, limit := into.Requests[name], into.Limits[name]; request.Cmp(limit) > 0 {
			wrong("resources.limits."+string(name), "%s is less than the request of %s", limit.String(), request.String())
		}
	}
	if limit := into.Limits[corev1.ResourceMemory]; tooLittle(limit) {
		wrong("resources.limits.memory", "%s is too little for a holder to start; has it a unit, such as Mi?", limit.String())
	}
}

// into puts what the document says over the defaults.
func (d *controllerDocument) into(c *Controller, field string, wrong func(field, format string, args ...any)) {
	if d == nil {
		return
	}
	if d.Enabled != nil {
		c.Enabled = *d.Enabled
	}
	c.ServiceAccounts = d.ServiceAccounts
	for i, name := range c.ServiceAccounts {
		if name != anyServiceAccount && len(validation.IsDNS1123Subdomain(name)) > 0 {
			wrong(fmt.Sprintf("%s.serviceAccounts[%d]", field, i), "%q is neither the name of a ServiceAccount nor %q", name, anyServiceAccount)
		}
	}
}

// heldResources are those a holder has requests and limits of.
var heldResources = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// quantity reads an amount of something; why is not empty when it is none, or not more than nothing.
func quantity(text string) (q resource.Quantity, why string) {
	q, err := resource.ParseQuantity(text)
	switch {
	case err != nil:
		return q, fmt.Sprintf("%q is not a quantity such as 100m or 64Mi", text)
	case q.Sign() <= 0:
		return q, fmt.Sprintf("%q is not more than nothing", text)
	}
	return q, ""
}

// leastMemory is less than any holder starts with. A limit below it is a slip, such as a number without a unit, and would
// keep the controller from starting as well.
const leastMemory = 16 << 20

// tooLittle says that a memory limit is below leastMemory; 0 is no limit.
func tooLittle(limit resource.Quantity) bool {
	return !limit.IsZero() && limit.CmpInt64(leastMemory) < 0
}

// badImage says what keeps the API server or kubelet from taking the name of an image; "" if nothing is seen to.
func badImage(image string) string {
	switch {
	case image == "":
		return "it is missing: name the holder's image"
	case strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Sprintf("%q has a blank or another character no image's name has", image)
	}
	return ""
}
