package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Room is what a namespace lets its pods ask for, as the API server's plugins LimitRanger and ResourceQuota see to it. The
// zero Room knows of no limit.
type Room struct {
	Ranges []corev1.LimitRange
	Quotas []corev1.ResourceQuota // their status is what counts
}

// Empty says that a namespace limits nothing.
func (r Room) Empty() bool { return len(r.Ranges)+len(r.Quotas) == 0 }

// A fault is one thing a namespace has against a pod: the rule, which is the same for every pod, and a sentence.
type fault struct{ rule, text string }

// alsoOf are the resources besides heldResources that a holder takes over with those of its controller's container.
const alsoOf = corev1.ResourceEphemeralStorage

// take returns the resources a holder can have in this pod without the pod being refused: those wanted; or the wanted ones
// within what is allowed each container; or those of the controller's own container, which is admitted with them. With
// others than the wanted ones, warning says why. refused is not empty where none of them can be had.
//
// runs says that the pod was admitted before, without the holder, and its quotas have counted it: one that takes its place
// is judged then.
func (r Room) take(pod *corev1.Pod, controller *corev1.Container, wanted corev1.ResourceRequirements, runs bool) (got corev1.ResourceRequirements, warning, refused string) {
	first := r.faults(pod, wanted, runs)
	if len(first) == 0 {
		return wanted, "", ""
	}
	least := wanted.Requests[corev1.ResourceMemory]
	if least.CmpInt64(leastMemory) < 0 {
		least = *resource.NewQuantity(leastMemory, resource.BinarySI)
	}
	fitted, own := r.fitted(wanted, least), resourcesLike(controller)
	second := r.faults(pod, fitted, runs)
	if len(second) == 0 {
		return fitted, instead(fitted, first), ""
	}
	memory := r.filled(own).Limits[corev1.ResourceMemory]
	if enough := memory.IsZero() || memory.Cmp(least) >= 0; enough && len(r.faults(pod, own, runs)) == 0 {
		return own, instead(own, first), ""
	}
	return wanted, "", told(second)
}

// faults returns what the namespace has against a pod because of a holder with these resources. What it has against the
// pod alone is not the holder's doing: such a pod is refused without it too, or was counted otherwise than here.
func (r Room) faults(pod *corev1.Pod, resources corev1.ResourceRequirements, runs bool) []fault {
	if r.Empty() {
		return nil
	}
	holder := corev1.Container{
		Name: v1alpha1.HolderContainer, Resources: r.filled(resources), RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
	}
	with := pod.DeepCopy()
	index, _, _ := place(pod)
	with.Spec.InitContainers = slices.Insert(with.Spec.InitContainers, index, holder)
	var before corev1.ResourceList
	if runs {
		before = usage(pod)
	}
	judge := func(p *corev1.Pod) []fault {
		return slices.Concat(ofWhole(p), r.ofRanges(corev1.LimitTypePod, "the pod with a holder", total(p)), r.ofQuotas(p, before))
	}
	alone := judge(pod)
	blameless := func(f fault) bool {
		return slices.ContainsFunc(alone, func(a fault) bool { return a.rule == f.rule })
	}
	return append(r.ofContainer(holder.Resources), slices.DeleteFunc(judge(with), blameless)...)
}

// resourcesLike returns the resources of a container that a holder may have too; what there are few of is left to it.
func resourcesLike(c *corev1.Container) corev1.ResourceRequirements {
	var out corev1.ResourceRequirements
	for _, name := range append([]corev1.ResourceName{alsoOf}, heldResources...) {
		set(&out.Requests, name, c.Resources.Requests[name])
		set(&out.Limits, name, c.Resources.Limits[name])
	}
	return out
}

// instead says which resources a holder gets, and why not those it should have.
func instead(got corev1.ResourceRequirements, why []fault) string {
	var each []string
	for _, name := range heldResources {
		each = append(each, fmt.Sprintf("%s for %s", asksFor(got, name), name))
	}
	return fmt.Sprintf("the holder gets %s, because its pod would be refused: %s", strings.Join(each, ", and "), told(why))
}

// told says the first fault, and how many there are besides.
func told(all []fault) string {
	if len(all) > 1 {
		return fmt.Sprintf("%s; and %d more", all[0].text, len(all)-1)
	}
	return all[0].text
}
