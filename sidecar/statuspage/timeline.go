package statuspage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// operation returns op as it is shown.
func operation(now time.Time, op v1alpha1.Operation) Operation {
	op.Message = message(op.Message)
	return Operation{Operation: op, Timeline: timeline(now, op)}
}

// timeline returns the phases of op that are known to have been entered. A phase before the one it is in may be missing:
// only the record, the resume and the verdict have instants, and only where they happened.
func timeline(now time.Time, op v1alpha1.Operation) []Step {
	steps := []Step{{Phase: v1alpha1.OperationRequested, At: &op.RequestedAt}}
	if op.StartedAt != nil {
		steps = append(steps, Step{Phase: v1alpha1.OperationRunning, At: op.StartedAt})
	}
	switch {
	case op.Phase.Final():
		steps = append(steps, Step{Phase: op.Phase, At: op.FinishedAt})
	case op.Phase != steps[len(steps)-1].Phase && op.Phase != v1alpha1.OperationRequested:
		steps = append(steps, Step{Phase: op.Phase})
	}
	end := op.FinishedAt
	if !op.Phase.Final() {
		end = &metav1.Time{Time: now}
	}
	for i := len(steps) - 1; i >= 0; i-- {
		at := steps[i].At
		if at == nil {
			continue
		}
		if end != nil && at != op.FinishedAt {
			spent := max(0, int64(end.Sub(at.Time)/time.Second))
			steps[i].Seconds = &spent
		}
		end = at
	}
	return steps
}
