package conditions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Fault is what keeps an object from doing its work, in words for its status. The zero Fault is none.
type Fault struct {
	Reason  v1alpha1.Reason
	Message string
	Passing bool // it ends by itself; nobody has to change anything
	Unknown bool // it is not known yet whether it is so
}

// None says that there is no fault.
func (f Fault) None() bool { return f.Reason == "" }

// first returns the first of the faults that is one.
func first(faults ...Fault) Fault {
	for _, f := range faults {
		if !f.None() {
			return f
		}
	}
	return Fault{}
}

// worst returns the first fault that somebody has to mend, or else the first that passes by itself.
func worst(faults ...Fault) Fault {
	for _, f := range faults {
		if !f.None() && !f.Passing {
			return f
		}
	}
	return first(faults...)
}

// list builds the conditions of one object.
type list struct {
	conds []metav1.Condition
	gen   int64
	now   time.Time
}

// on starts from the conditions an object has, so that their transition times are kept.
func on(old []metav1.Condition, gen int64, now time.Time) *list {
	return &list{conds: append([]metav1.Condition(nil), old...), gen: gen, now: now}
}

// set puts t in as True, or, with a fault, as False or Unknown.
func (l *list) set(t v1alpha1.ConditionType, f Fault, whenTrue string) {
	if f.None() {
		status.Set(&l.conds, t, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, l.gen, l.now, "%s", whenTrue)
		return
	}
	is := metav1.ConditionFalse
	if f.Unknown {
		is = metav1.ConditionUnknown
	}
	status.Set(&l.conds, t, is, f.Reason, l.gen, l.now, "%s", f.Message)
}

// ready sums up: Ready, and of Reconciling and Stalled at most one, as kstatus reads them.
func (l *list) ready(f Fault, whenTrue string) []metav1.Condition {
	l.set(v1alpha1.ConditionReady, f, whenTrue)
	status.Clear(&l.conds, v1alpha1.ConditionReconciling)
	status.Clear(&l.conds, v1alpha1.ConditionStalled)
	switch {
	case f.None():
	case f.Passing:
		status.Set(&l.conds, v1alpha1.ConditionReconciling, metav1.ConditionTrue, f.Reason, l.gen, l.now, "%s", f.Message)
	default:
		status.Set(&l.conds, v1alpha1.ConditionStalled, metav1.ConditionTrue, f.Reason, l.gen, l.now, "%s", f.Message)
	}
	return l.conds
}
