package statuspage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// State is how an applier is, in one word.
type State string

// States of an applier.
const (
	// StateHeld: it applies nothing on its own.
	StateHeld State = "Held"

	// StateApplying: it is resumed for a recorded operation that is followed.
	StateApplying State = "Applying"

	// StateSuspending: a suspend is sent, and kustomize-controller has not handled it yet.
	StateSuspending State = "Suspending"

	// StateReleasing: it is being handed back.
	StateReleasing State = "Releasing"

	// StateNotHeld: it is not held.
	StateNotHeld State = "NotHeld"

	// StateUnknown: nobody has said, or nobody is there to say.
	StateUnknown State = "Unknown"
)

// stateOf returns the state the conditions of a trigger tell of.
func stateOf(conds []metav1.Condition) State {
	held := status.Get(conds, v1alpha1.ConditionHeld)
	switch {
	case held == nil || held.Status == metav1.ConditionUnknown || abandoned(conds):
		return StateUnknown
	case held.Status == metav1.ConditionTrue && held.Reason == string(v1alpha1.ReasonApplying):
		return StateApplying
	case held.Status == metav1.ConditionTrue:
		return StateHeld
	case held.Reason == string(v1alpha1.ReasonSuspending):
		return StateSuspending
	case held.Reason == string(v1alpha1.ReasonReleasing):
		return StateReleasing
	}
	return StateNotHeld
}

// abandoned says that no holder answers for the trigger, so that the rest of its conditions only say how it was.
func abandoned(conds []metav1.Condition) bool {
	c := status.Get(conds, v1alpha1.ConditionHolderAvailable)
	return c != nil && c.Status == metav1.ConditionFalse
}

// needsAttention says that waiting does not help: nobody answers, the trigger is not Ready although nothing is on its way,
// or what was asked for could not be started.
func needsAttention(st *v1alpha1.FluxTriggerStatus) bool {
	if abandoned(st.Conditions) || couldNotStart(st.LastHandledRequest) {
		return true
	}
	ready := status.Get(st.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return false
	}
	switch v1alpha1.Reason(ready.Reason) {
	case v1alpha1.ReasonSuspending, v1alpha1.ReasonReleasing:
		return false
	}
	return true
}

func couldNotStart(h *v1alpha1.HandledRequest) bool {
	return h != nil && h.Outcome == v1alpha1.OutcomeRequestFailed
}

// add counts t.
func (c *Counts) add(t *v1alpha1.FluxTrigger) {
	switch stateOf(t.Status.Conditions) {
	case StateHeld:
		c.Held++
	case StateApplying:
		c.Applying++
	case StateSuspending, StateReleasing:
		c.Moving++
	case StateNotHeld, StateUnknown:
		c.NotHeld++
	}
	if needsAttention(&t.Status) {
		c.NeedAttention++
	}
}
