package hold

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// claim is what one condition says.
type claim struct {
	status  metav1.ConditionStatus
	reason  v1alpha1.Reason
	message string
}

// report is what a pass found, before it becomes a status.
type report struct {
	configured claim
	held       claim
	progress   string // what is on its way; empty: nothing
	operation  *v1alpha1.Operation
	handled    *v1alpha1.HandledRequest // the answer to gitmirror's newest request that has one
	manual     *v1alpha1.HandledRequest // the answer to a person's
	history    []v1alpha1.Operation
}

// report returns what there is to say while the operation in the status stays as it is.
func (s Seen) report() report { return s.reportOn(s.Trigger.Status.Operation) }

// reportOn returns what there is to say with op as the newest operation; nil means there is none.
func (s Seen) reportOn(op *v1alpha1.Operation) report {
	st := s.Trigger.Status
	r := report{handled: st.LastHandledRequest, manual: st.LastHandledManual, history: slices.Clone(st.History)}
	if op != nil {
		o := *op
		o.Message = status.Message("%s", o.Message)
		r.operation = &o
	}
	following := r.operation != nil && !r.operation.Phase.Final()
	no := s.refusal()

	switch {
	case s.unreferenced():
		r.configured = claim{metav1.ConditionUnknown, v1alpha1.ReasonNotReferenced, s.Binding.Message}
	case no != nil:
		r.configured = claim{no.configured(), no.reason, no.message}
	default:
		r.configured = claim{metav1.ConditionTrue, v1alpha1.ReasonSucceeded, s.Binding.Message}
	}

	switch {
	case s.leaving() && (s.adopted() || s.marked()):
		r.held = claim{metav1.ConditionFalse, v1alpha1.ReasonReleasing, "Kustomization " + s.applier() + " is being handed back"}
		r.progress = r.held.message
	case s.unreferenced():
		r.held = claim{metav1.ConditionFalse, v1alpha1.ReasonNotReferenced, s.Binding.Message}
	case following && r.operation.Origin == v1alpha1.OriginExternal:
		r.held = claim{metav1.ConditionFalse, v1alpha1.ReasonSuspending, r.operation.Message}
		r.progress = r.held.message
	case following:
		r.held = claim{metav1.ConditionTrue, v1alpha1.ReasonApplying, sentence(*r.operation)}
		r.progress = r.held.message
	case no != nil:
		r.held = claim{metav1.ConditionFalse, v1alpha1.ReasonNotConfigured, s.leftAs()}
		if no.configured() == metav1.ConditionUnknown {
			r.progress = no.message
		}
	case s.held():
		r.held = claim{metav1.ConditionTrue, v1alpha1.ReasonSuspended, "Kustomization " + s.applier() + " is suspended and applies nothing on its own"}
	default:
		r.held = claim{metav1.ConditionFalse, v1alpha1.ReasonSuspending, "waiting for kustomize-controller to handle the suspend of Kustomization " + s.applier()}
		r.progress = r.held.message
	}
	return r
}

// leftAs says how the Kustomization of a trigger that cannot hold is left.
func (s Seen) leftAs() string {
	switch {
	case s.Kustomization == nil:
		return "there is no Kustomization to hold"
	case !s.heldByUs():
		return "Kustomization " + s.applier() + " is not touched"
	case s.Kustomization.Spec.Suspend:
		return "Kustomization " + s.applier() + " is left suspended, as it was held before; it applies nothing until this is configured, or this trigger is deleted"
	}
	return "Kustomization " + s.applier() + " was held before, and is resumed"
}

// handle keeps the answer to whoever asked for op; nobody asks for what somebody else did.
func (r *report) handle(op v1alpha1.Operation, h v1alpha1.HandledRequest) {
	switch op.Origin {
	case v1alpha1.OriginRequest:
		r.handled = &h
	case v1alpha1.OriginManual:
		r.manual = &h
	case v1alpha1.OriginExternal, v1alpha1.OriginDeletion:
	}
}

// answer keeps what a finished operation answers to its request.
func (r *report) answer(op v1alpha1.Operation) {
	o := v1alpha1.OutcomeSucceeded
	if op.Phase == v1alpha1.OperationFailed {
		o = v1alpha1.OutcomeFailed
	}
	r.handle(op, v1alpha1.HandledRequest{ID: op.RequestID, Outcome: o, Token: op.Token, Message: op.Message})
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

// reject answers a request that waits on a trigger that does not hold; nil is no request.
func (r *report) reject(req *v1alpha1.ApplyRequest, why string) {
	if req != nil {
		r.handled = &v1alpha1.HandledRequest{ID: req.ID, Outcome: v1alpha1.OutcomeRejected, Message: why}
	}
}
