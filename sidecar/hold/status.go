package hold

import (
	"fmt"

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
	st.Operation, st.History = r.operation, r.history
	st.LastHandledRequest, st.LastHandledManual = bounded(r.handled), bounded(r.manual)
	st.Source = nil
	if r.configured.status == metav1.ConditionTrue {
		st.Source = s.source()
	}
	switch {
	case s.Kustomization == nil:
		st.Holder = "" // with several holders nobody can say whose it would be, and each would write its own name
	case s.Controller.Leads && !s.Controller.Elsewhere:
		st.Holder = s.Controller.Heartbeat
	}
	s.keep(&st, r)

	set := func(t v1alpha1.ConditionType, c claim) {
		status.Set(&st.Conditions, t, c.status, c.reason, gen, s.Now, "%s", c.message)
	}
	set(v1alpha1.ConditionReady, s.ready(r))
	if r.progress == "" {
		status.Clear(&st.Conditions, v1alpha1.ConditionReconciling)
	} else {
		set(v1alpha1.ConditionReconciling, claim{metav1.ConditionTrue, v1alpha1.ReasonProgressing, r.progress})
	}
	if r.configured.status != metav1.ConditionFalse {
		status.Clear(&st.Conditions, v1alpha1.ConditionStalled)
	} else {
		set(v1alpha1.ConditionStalled, r.configured.as(metav1.ConditionTrue))
	}
	set(v1alpha1.ConditionConfigured, r.configured)
	set(v1alpha1.ConditionHeld, r.held)
	st = Own(st)
	return &st
}

// keep brings what is kept from pass to pass up to date: what the Kustomization says at rest, since when it has been
// handed back, and since when its source has been ahead of it.
func (s Seen) keep(st *v1alpha1.FluxTriggerStatus, r report) {
	k, at := s.Kustomization, instant(s.Now)
	switch {
	case r.held.reason == v1alpha1.ReasonSuspended, s.inFlight() && s.ends(r.operation), !s.inFlight() && !s.wasHeld() && s.held():
		st.AtRest = &v1alpha1.Rest{ApplierUID: string(k.UID), Baseline: BaselineOf(k)}
	case !s.wasHeld(), r.held.reason == v1alpha1.ReasonReleasing && !s.inFlight(), r.held.reason == v1alpha1.ReasonNotReferenced:
		st.AtRest = nil
	}
	switch {
	case r.held.reason != v1alpha1.ReasonReleasing:
		st.ReleasingSince = nil
	case st.ReleasingSince == nil:
		st.ReleasingSince = &at
	}
	switch tip := artifactRevision(s.GitRepository); {
	case st.Source == nil || k == nil || tip == "" || tip == k.Status.LastAppliedRevision:
		st.BehindSince = nil
	case st.BehindSince == nil:
		st.BehindSince = &at
	}
}

// ends says that op, which is in flight, has come to its end on the Kustomization there is. That is rest too: what the
// status says then is the operation's own doing, whether or not the trigger may hold at that moment.
func (s Seen) ends(op *v1alpha1.Operation) bool {
	return op != nil && op.Token == s.Trigger.Status.Operation.Token && op.Phase.Final() && s.Kustomization != nil && string(s.Kustomization.UID) == op.ApplierUID
}

// bounded returns a copy of h with a message that the status takes; nil stays nil.
func bounded(h *v1alpha1.HandledRequest) *v1alpha1.HandledRequest {
	if h == nil {
		return nil
	}
	b := *h
	b.Message = status.Message("%s", b.Message)
	return &b
}

// ready sums up. A trigger nobody names is Ready, so that a health check that waits for it cannot block the very
// Kustomization that would bring its GitTarget. Applying counts as holding; a failed apply is not Ready until one succeeds,
// and not Stalled either, because it is asked for again.
func (s Seen) ready(r report) claim {
	last := r.lastFinished()
	switch {
	case r.configured.reason == v1alpha1.ReasonNotReferenced:
		return r.configured.as(metav1.ConditionTrue)
	case r.configured.status != metav1.ConditionTrue:
		return r.configured
	case r.operation != nil && r.operation.Phase == v1alpha1.OperationUnresolved:
		return claim{metav1.ConditionFalse, v1alpha1.ReasonOperationUnresolved, sentence(*r.operation)}
	case r.held.status != metav1.ConditionTrue:
		return r.held
	case last != nil && last.Phase == v1alpha1.OperationFailed:
		return claim{metav1.ConditionFalse, v1alpha1.ReasonApplyFailed, sentence(*last)}
	}
	if !s.specApplied(r) {
		return claim{metav1.ConditionFalse, v1alpha1.ReasonSpecNotApplied, fmt.Sprintf(
			"the spec of Kustomization %s changed, and no operation has applied it; the next one will, or: kubectl -n %s annotate --overwrite fluxtrigger %s %s=\"$(date)\"",
			s.applier(), s.Trigger.Namespace, s.Trigger.Name, v1alpha1.RequestedAtAnnotation)}
	}
	return claim{metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Kustomization " + s.applier() + " is held"}
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

// sentence says how an operation is, and for which commit where it has one: what somebody else began has none.
func sentence(op v1alpha1.Operation) string {
	if op.Commit == "" {
		return op.Message
	}
	return "commit " + op.Commit + ": " + op.Message
}
