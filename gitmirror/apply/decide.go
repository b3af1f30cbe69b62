package apply

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Retries after an apply that failed or could not start: the first wait, doubled each time up to the longest.
const (
	firstRetry   = 15 * time.Second
	longestRetry = 10 * time.Minute
)

// Branch is what the branch workers know of a trigger's branch; Fold makes it.
type Branch struct {
	Name         string    // short name, such as main
	Tip          string    // full hash; "" while unknown
	Busy         bool      // an edit may be in hand
	QuietSince   time.Time // last edit, push or foreign move, UTC
	ForeignMoves int       // how often somebody else has pushed since the start
}

// Seen is everything Decide may look at.
type Seen struct {
	Now         time.Time // UTC
	Branch      Branch
	Held        bool // the trigger says that it holds its applier
	Missing     bool // no holder answers, so what the trigger says is how it was
	Operation   *v1alpha1.Operation
	QuietPeriod time.Duration
	Request     *v1alpha1.ApplyRequest   // the newest request; nil: none was ever made
	Handled     *v1alpha1.HandledRequest // the newest answer
	Memory      Memory                   // brought up to date by Saw
	NewID       string                   // the id a request made now would get
}

// Decision is what to do. The zero Decision waits for an event.
type Decision struct {
	Ask  *v1alpha1.ApplyRequest // write this request
	Wait time.Duration          // look again after so long; 0: only an event wakes us
}

// Decide returns the request that is due, or how long to wait for it. First matching rule wins.
func Decide(s Seen) Decision {
	if !s.Held || s.Missing || s.Branch.Tip == "" {
		return Decision{}
	}
	if InFlight(s.Operation) && s.Operation.Origin != v1alpha1.OriginRequest {
		return Decision{} // somebody else's: what it applies decides what is left to ask for
	}
	if s.Branch.Busy {
		return Decision{}
	}
	asked := s.Request != nil && s.Request.Commit == s.Branch.Tip
	if asked && !s.answered() {
		return Decision{}
	}
	if asked {
		switch s.Handled.Outcome {
		case v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeCurrent:
			return Decision{}
		case v1alpha1.OutcomeRejected:
			// Only a trigger that does not hold rejects; it holds now, so what refused it has changed.
		default:
			if wait := s.Memory.failedAt.Add(Backoff(s.Memory.failures)).Sub(s.Now); wait > 0 {
				return Decision{Wait: wait}
			}
		}
	}
	if wait := s.Branch.QuietSince.Add(s.QuietPeriod).Sub(s.Now); wait > 0 {
		return Decision{Wait: wait}
	}
	return Decision{Ask: &v1alpha1.ApplyRequest{
		ID:          s.NewID,
		Reason:      s.reason(asked),
		Commit:      s.Branch.Tip,
		Revision:    s.Branch.Name + "@sha1:" + s.Branch.Tip,
		RequestedAt: metav1.NewTime(s.Now),
	}}
}

// answered says whether the newest request has its answer.
func (s Seen) answered() bool { return s.Handled != nil && s.Handled.ID == s.Request.ID }

// reason returns the strongest reason to ask. A request made again keeps the reason it had, unless a stronger one came.
func (s Seen) reason(again bool) v1alpha1.ApplyReason {
	switch {
	case s.Branch.ForeignMoves > s.Memory.foreign:
		return v1alpha1.ApplyForeignCommit
	case again:
		return s.Request.Reason
	case s.Request == nil:
		return v1alpha1.ApplyCatchUp
	default:
		return v1alpha1.ApplyPublish
	}
}

// Backoff returns how long to wait after so many failures in a row: 15s, doubled each time, at most 10m; none for 0.
func Backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	wait := firstRetry
	for i := 1; i < failures && wait < longestRetry; i++ {
		wait *= 2
	}
	return min(wait, longestRetry)
}
