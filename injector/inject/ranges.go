package inject

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// filled returns a container's resources as the API server completes them: a request that is missing is the limit, and what
// is missing then is what a LimitRange says for those that are silent.
func (r Room) filled(in corev1.ResourceRequirements) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	maps.Copy(out.Requests, in.Requests)
	maps.Copy(out.Limits, in.Limits)
	complete(out.Requests, in.Limits)
	for _, l := range r.Ranges {
		requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
		for _, item := range l.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				maps.Copy(requests, item.DefaultRequest)
				maps.Copy(limits, item.Default)
			}
		}
		complete(out.Requests, requests)
		complete(out.Limits, limits)
	}
	return out
}

// complete adds what a list lacks of another.
func complete(to, list corev1.ResourceList) {
	for name, q := range list {
		if _, found := to[name]; !found {
			to[name] = q.DeepCopy()
		}
	}
}

// ofContainer returns what the LimitRanges, and the API server itself, have against a container with these resources.
func (r Room) ofContainer(has corev1.ResourceRequirements) []fault {
	var all []fault
	for _, name := range slices.Sorted(maps.Keys(has.Limits)) {
		request, limit := has.Requests[name], has.Limits[name]
		if request.Cmp(limit) > 0 {
			all = append(all, fault{"request " + string(name),
				fmt.Sprintf("the holder's request of %s %s exceeds the limit of %s a LimitRange gives it", request.String(), name, limit.String())})
		}
	}
	return append(all, r.ofRanges(corev1.LimitTypeContainer, "the holder", has)...)
}

// ofRanges returns what the LimitRanges of one type have against resources; who has them is for the sentences.
func (r Room) ofRanges(kind corev1.LimitType, who string, has corev1.ResourceRequirements) []fault {
	var all []fault
	for _, l := range r.Ranges {
		for _, item := range l.Spec.Limits {
			if item.Type == kind {
				all = append(all, against(l.Name, item, who, has)...)
			}
		}
	}
	return all
}

// against returns what one item has against resources. An amount that is bounded has to be there.
func against(name string, item corev1.LimitRangeItem, who string, has corev1.ResourceRequirements) []fault {
	bounded := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{item.Min, item.Max, item.MaxLimitRequestRatio} {
		maps.Copy(bounded, list)
	}
	var all []fault
	for _, of := range slices.Sorted(maps.Keys(bounded)) {
		request, requested := has.Requests[of]
		limit, limited := has.Limits[of]
		say := func(bound, wants string, q resource.Quantity) {
			all = append(all, fault{
				rule: fmt.Sprintf("LimitRange %s %s %s %s", name, item.Type, bound, of),
				text: fmt.Sprintf("LimitRange %s wants "+wants+" of %s for each %s, and %s has %s", name, q.String(), of, item.Type, who, asksFor(has, of)),
			})
		}
		if least, found := item.Min[of]; found && (!requested || request.Cmp(least) < 0 || limited && limit.Cmp(least) < 0) {
			say("min", "at least %s", least)
		}
		if most, found := item.Max[of]; found && (!limited || limit.Cmp(most) > 0 || requested && request.Cmp(most) > 0) {
			say("max", "at most %s", most)
		}
		if most, found := item.MaxLimitRequestRatio[of]; found && !inRatio(request, limit, most) {
			say("ratio", "a limit of at most %s times the request", most)
		}
	}
	return all
}

// inRatio says that a limit is at most so many times the request. Neither may be missing, and it is reckoned as the
// admission plugin does.
func inRatio(request, limit, most resource.Quantity) bool {
	if request.IsZero() || limit.IsZero() {
		return false
	}
	return float64(limit.MilliValue())/float64(request.MilliValue())*1000 <= float64(most.MilliValue())
}

// asksFor says how much of something resources ask for.
func asksFor(has corev1.ResourceRequirements, of corev1.ResourceName) string {
	request, limit := "no request", "no limit"
	if q, found := has.Requests[of]; found {
		request = "a request of " + q.String()
	}
	if q, found := has.Limits[of]; found {
		limit = "a limit of " + q.String()
	}
	return request + " and " + limit
}

// fitted returns a holder's resources within what the LimitRanges want of each container: requests raised, limits lowered.
// The limit of memory stays at least least: with less a holder may not start, and nor would its controller.
func (r Room) fitted(wanted corev1.ResourceRequirements, least resource.Quantity) corev1.ResourceRequirements {
	had, out := r.filled(wanted), corev1.ResourceRequirements{}
	for _, name := range heldResources {
		request, limit := had.Requests[name], had.Limits[name]
		for _, item := range r.containers() {
			if most, found := item.Max[name]; found && (limit.IsZero() || limit.Cmp(most) > 0) {
				limit = most
			}
		}
		if name == corev1.ResourceMemory && !limit.IsZero() && limit.Cmp(least) < 0 {
			limit = least
		}
		if !limit.IsZero() && request.Cmp(limit) > 0 {
			request = limit
		}
		for _, item := range r.containers() {
			if floor := item.Min[name]; request.Cmp(floor) < 0 {
				request = floor
			}
			if ratio, found := item.MaxLimitRequestRatio[name]; found && ratio.Sign() > 0 && !inRatio(request, limit, ratio) {
				request = divided(name, limit, ratio)
			}
		}
		if !limit.IsZero() && limit.Cmp(request) < 0 {
			limit = request
		}
		set(&out.Requests, name, request)
		set(&out.Limits, name, limit)
	}
	return out
}

// containers are the items that say something of each container.
func (r Room) containers() []corev1.LimitRangeItem {
	var all []corev1.LimitRangeItem
	for _, l := range r.Ranges {
		for _, item := range l.Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				all = append(all, item)
			}
		}
	}
	return all
}

// divided returns the least request that a limit is at most so many times of, in whole bytes or thousandths of a core.
func divided(name corev1.ResourceName, limit, ratio resource.Quantity) resource.Quantity {
	by := float64(ratio.MilliValue()) / 1000
	if name == corev1.ResourceMemory {
		return *resource.NewQuantity(int64(math.Ceil(float64(limit.Value())/by)), resource.BinarySI)
	}
	return *resource.NewMilliQuantity(int64(math.Ceil(float64(limit.MilliValue())/by)), resource.DecimalSI)
}
