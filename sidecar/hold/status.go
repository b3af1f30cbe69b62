package hold

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// own are the conditions the holder writes, in the order people read them.
var own = []v1alpha1.ConditionType{
	v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
	v1alpha1.ConditionConfigured, v1alpha1.ConditionHeld,
}

// Own returns the part of st the holder writes: everything but the request and conditions of others.
func Own(st v1alpha1.FluxTriggerStatus) v1alpha1.FluxTriggerStatus {
	all := st.Conditions
	st.Request, st.Conditions = nil, nil
	for _, t := range own {
		if c := status.Get(all, t); c != nil {
			st.Conditions = append(st.Conditions, *c)
		}
	}
	return st
}

// status returns all the holder says, built from r. Ready and its two companions are computed here and nowhere else.
func (s Seen) status(r report) *v1alpha1.FluxTriggerStatus {
	st := Own(*s.Trigger.Status.DeepCopy())
	gen := s.Trigger.Generation
	st.ObservedGeneration = gen
	st.Operation, st.LastHandledRequest, st.History = r.operation, r.handled, r.history
	if st.LastHandledRequest != nil {
		h := *st.LastHandledRequest
		h.Message = status.Message("%s", h.Message)
		st.LastHandledRequest = &h
	}
	st.Source = nil
	if r.configured.status == metav1.ConditionTrue {
		st.Source = s.source()
	}

	set := func(t v1alpha1.ConditionType, c claim) {
		status.Set(&st.Conditions, t, c.status, c.reason, gen, s.Now, "%s", c.message)
	}
	set(v1alpha1.ConditionReady, r.ready(s.applier()))
	status.Clear(&st.Conditions, v1alpha1.ConditionReconciling)
	if r.progress != "" {
		set(v1alpha1.ConditionReconciling, claim{metav1.ConditionTrue, v1alpha1.ReasonProgressing, r.progress})
	}
	status.Clear(&st.Conditions, v1alpha1.ConditionStalled)
	if r.configured.status == metav1.ConditionFalse {
		set(v1alpha1.ConditionStalled, r.configured.as(metav1.ConditionTrue))
	}
	set(v1alpha1.ConditionConfigured, r.configured)
	set(v1alpha1.ConditionHeld, r.held)
	st = Own(st)
	return &st
}

// ready sums up. A trigger nobody names is Ready, so that a health check that waits for it cannot block the very
// Kustomization that would bring its GitTarget. Applying counts as holding; a failed apply is not Ready until one succeeds,
// and not Stalled either, because it is asked for again.
func (r report) ready(applier string) claim {
	last := r.lastFinished()
	switch {
	case r.configured.reason == v1alpha1.ReasonNotReferenced:
		return r.configured.as(metav1.ConditionTrue)
	case r.configured.status != metav1.ConditionTrue:
		return r.configured
	case r.held.status != metav1.ConditionTrue:
		return r.held
	case last != nil && last.Phase == v1alpha1.OperationFailed:
		return claim{metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, "commit " + last.Commit + ": " + last.Message}
	}
	return claim{metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Kustomization " + applier + " is held"}
}

// lastFinished returns the newest operation that has an end, or nil.
func (r report) lastFinished() *v1alpha1.Operation {
	if r.operation != nil && r.operation.Phase.Final() {
		return r.operation
	}
	if len(r.history) > 0 {
		return &r.history[0]
	}
	return nil
}

// as returns the claim with another status.
func (c claim) as(s metav1.ConditionStatus) claim {
	c.status = s
	return c
}

// source returns what the applier fetches, or nil when that is not known.
func (s Seen) source() *v1alpha1.TriggerSource {
	g := s.GitRepository
	if g == nil {
		return nil
	}
	branch, _ := BranchOf(g)
	return &v1alpha1.TriggerSource{
		GitRepository: v1alpha1.NamespacedReference{Namespace: g.Namespace, Name: g.Name},
		URL:           publicURL(g),
		Branch:        branch,
	}
}
