package inject

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// asked maps the names in a quota that every container has to say something of, to where it says it.
// Source: validationSet in kubernetes/pkg/quota/v1/evaluator/core/pods.go@v1.36.3.
var asked = map[corev1.ResourceName]struct {
	of    corev1.ResourceName
	limit bool
}{
	corev1.ResourceCPU:            {corev1.ResourceCPU, false},
	corev1.ResourceRequestsCPU:    {corev1.ResourceCPU, false},
	corev1.ResourceLimitsCPU:      {corev1.ResourceCPU, true},
	corev1.ResourceMemory:         {corev1.ResourceMemory, false},
	corev1.ResourceRequestsMemory: {corev1.ResourceMemory, false},
	corev1.ResourceLimitsMemory:   {corev1.ResourceMemory, true},
}

// ofQuotas returns what the quotas have against a pod that is made now. before is what they have counted of a pod that
// goes when this one comes; empty: nothing goes.
func (r Room) ofQuotas(pod *corev1.Pod, before corev1.ResourceList) []fault {
	var all []fault
	takes := usage(pod)
	for _, q := range r.Quotas {
		if !covers(q.Spec, pod) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			rule := fmt.Sprintf("ResourceQuota %s %s", q.Name, name)
			for _, c := range silentOf(pod, name) {
				all = append(all, fault{rule + " of " + c, fmt.Sprintf("ResourceQuota %s wants %s of every container, and %s has none", q.Name, name, c)})
			}
			amount := takes[name]
			if amount.IsZero() {
				continue
			}
			hard, used := q.Status.Hard[name], q.Status.Used[name].DeepCopy()
			used.Sub(before[name])
			sum := used.DeepCopy()
			sum.Add(amount)
			if sum.Cmp(hard) > 0 {
				all = append(all, fault{rule, fmt.Sprintf("ResourceQuota %s has %s of %s, %s of it used, and the pod with a holder takes %s",
					q.Name, hard.String(), name, used.String(), amount.String())})
			}
		}
	}
	return all
}

// silentOf returns the names of the containers that say nothing of what a quota wants of each.
func silentOf(pod *corev1.Pod, name corev1.ResourceName) []string {
	where, found := asked[name]
	if !found || wholeIsLimited(pod) {
		return nil
	}
	var all []string
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		list := c.Resources.Requests
		if where.limit {
			list = c.Resources.Limits
		}
		if _, found := list[where.of]; !found {
			all = append(all, c.Name)
		}
	}
	return all
}

// usage is what a quota counts of a pod, in its names for it.
func usage(pod *corev1.Pod) corev1.ResourceList {
	all := total(pod)
	add(all.Requests, pod.Spec.Overhead)
	for name, q := range pod.Spec.Overhead {
		if limit := all.Limits[name]; !limit.IsZero() {
			add(all.Limits, corev1.ResourceList{name: q})
		}
	}
	out := corev1.ResourceList{}
	for name, q := range all.Requests {
		out[name], out["requests."+name] = q, q
	}
	for name, q := range all.Limits {
		out["limits."+name] = q
	}
	return out
}

// covers says that a quota counts a pod. A scope nobody here knows is taken to.
func covers(q corev1.ResourceQuotaSpec, pod *corev1.Pod) bool {
	selectors := make([]corev1.ScopedResourceSelectorRequirement, 0, len(q.Scopes))
	for _, s := range q.Scopes {
		selectors = append(selectors, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.ScopeSelector != nil {
		selectors = append(selectors, q.ScopeSelector.MatchExpressions...)
	}
	return !slices.ContainsFunc(selectors, func(s corev1.ScopedResourceSelectorRequirement) bool { return !inScope(s, pod) })
}

func inScope(s corev1.ScopedResourceSelectorRequirement, pod *corev1.Pod) bool {
	ends := pod.Spec.ActiveDeadlineSeconds != nil
	switch s.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return ends
	case corev1.ResourceQuotaScopeNotTerminating:
		return !ends
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		class := pod.Spec.PriorityClassName
		switch s.Operator {
		case corev1.ScopeSelectorOpExists:
			return class != ""
		case corev1.ScopeSelectorOpDoesNotExist:
			return class == ""
		case corev1.ScopeSelectorOpIn:
			return class != "" && slices.Contains(s.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return class == "" || !slices.Contains(s.Values, class)
		}
	}
	return true
}

// bestEffort says that a pod asks for neither cpu nor memory.
func bestEffort(pod *corev1.Pod) bool {
	all := total(pod)
	for _, name := range heldResources {
		for _, list := range []corev1.ResourceList{all.Requests, all.Limits} {
			if q := list[name]; q.Cmp(resource.Quantity{}) > 0 {
				return false
			}
		}
	}
	return true
}
