package statuspage

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/redact"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Bounds of the document, which is made in memory: some 15 MB at the very most.
const (
	maxAppliers = 1000
	maxHistory  = 5000 // finished operations, over all appliers
	maxEach     = 20   // finished operations of one applier
)

// Build returns the document of triggers at now. It changes none of them. Their order does not matter.
func Build(now time.Time, triggers []v1alpha1.FluxTrigger, leadership Leadership) Status {
	order := byName(triggers)
	shown := order[:min(len(order), maxAppliers)]
	s := Status{
		APIVersion:  APIVersion,
		GeneratedAt: metav1.NewTime(now.UTC().Truncate(time.Second)),
		Leadership:  leadership,
		Total:       len(order),
		Omitted:     len(order) - len(shown),
		Appliers:    make([]Applier, 0, len(shown)),
	}
	each := share(len(shown))
	for _, t := range shown {
		s.Appliers = append(s.Appliers, applier(now, t, each))
	}
	for _, t := range order {
		s.Counts.add(t)
	}
	return s
}

// byName returns triggers by namespace and name; where they are is left as it is.
func byName(triggers []v1alpha1.FluxTrigger) []*v1alpha1.FluxTrigger {
	order := make([]*v1alpha1.FluxTrigger, len(triggers))
	for i := range triggers {
		order[i] = &triggers[i]
	}
	slices.SortFunc(order, func(a, b *v1alpha1.FluxTrigger) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return order
}

// share is how many finished operations of one applier are shown where so many appliers are.
func share(appliers int) int { return min(maxEach, maxHistory/max(1, appliers)) }

// applier returns what t holds, with at most each finished operations.
func applier(now time.Time, t *v1alpha1.FluxTrigger, each int) Applier {
	st, ref := t.Status.DeepCopy(), t.Spec.KustomizationRef
	a := Applier{
		Trigger:            Name{"FluxTrigger", t.Namespace, t.Name},
		Applier:            Name{"Kustomization", ref.Namespace, ref.Name},
		KubeProvider:       cmp.Or(t.Spec.KubeProviderRef.Name, v1alpha1.DefaultKubeProvider),
		Held:               claim(st.Conditions, v1alpha1.ConditionHeld),
		Ready:              claim(st.Conditions, v1alpha1.ConditionReady),
		Configured:         claim(st.Conditions, v1alpha1.ConditionConfigured),
		Holder:             st.Holder,
		Source:             st.Source,
		BehindSince:        st.BehindSince,
		Waiting:            waiting(st),
		LastHandledRequest: handled(st.LastHandledRequest),
		LastHandledManual:  handled(st.LastHandledManual),
	}
	if status.Get(st.Conditions, v1alpha1.ConditionHolderAvailable) != nil {
		c := claim(st.Conditions, v1alpha1.ConditionHolderAvailable)
		a.HolderAvailable = &c
	}
	if a.Source != nil {
		a.Source.URL = redact.Text(a.Source.URL)
	}
	if st.Operation != nil {
		op := operation(now, *st.Operation)
		a.Operation = &op
	}
	for _, op := range st.History[:min(len(st.History), each)] {
		a.History = append(a.History, operation(now, op))
	}
	a.HistoryOmitted = len(st.History) - len(a.History)
	a.State, a.NeedsAttention = stateOf(st.Conditions), needsAttention(st)
	a.Sentence = message(sentence(a))
	return a
}

// claim returns what the condition t says.
func claim(conds []metav1.Condition, t v1alpha1.ConditionType) Claim {
	c := status.Get(conds, t)
	if c == nil {
		return Claim{Status: metav1.ConditionUnknown}
	}
	out := Claim{Status: c.Status, Reason: c.Reason, Message: message(c.Message)}
	if !c.LastTransitionTime.IsZero() {
		out.Since = &c.LastTransitionTime
	}
	return out
}

// waiting returns the request that has neither an answer nor an operation, or nil.
func waiting(st *v1alpha1.FluxTriggerStatus) *v1alpha1.ApplyRequest {
	switch {
	case st.Request == nil,
		st.LastHandledRequest != nil && st.LastHandledRequest.ID == st.Request.ID,
		st.Operation != nil && st.Operation.RequestID == st.Request.ID:
		return nil
	}
	return st.Request
}

func handled(h *v1alpha1.HandledRequest) *v1alpha1.HandledRequest {
	if h != nil {
		h.Message = message(h.Message)
	}
	return h
}

// message returns text as anybody may read it, bounded.
func message(text string) string { return status.Message("%s", redact.Text(text)) }
