package apply

import (
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Memory is what is known of one trigger beyond its status. The zero Memory knows nothing; losing it costs an early retry.
type Memory struct {
	handled  string // the newest answer counted, by its request's id
	commit   string // the commit the failures are about
	failures int    // failed answers in a row for that commit
	failedAt time.Time
	foreign  int // foreign moves that requests have named

	unanswered      string // the newest request, while it has neither an answer nor an operation
	unansweredSince time.Time
	absent          string // the Lease that status.holder names, while there is none
	absentSince     time.Time
}

// Saw returns the memory after a look at the trigger's status. lease is the one that status.holder names; nil: there is none.
func (m Memory) Saw(st v1alpha1.FluxTriggerStatus, lease *Lease, now time.Time) Memory {
	m = m.answered(st.Request, st.LastHandledRequest, now)
	switch {
	case !Unanswered(st):
		m.unanswered, m.unansweredSince = "", time.Time{}
	case st.Request.ID != m.unanswered:
		m.unanswered, m.unansweredSince = st.Request.ID, now
	}
	switch {
	case lease != nil:
		m.absent, m.absentSince = "", time.Time{}
	case st.Holder != m.absent:
		m.absent, m.absentSince = st.Holder, now
	}
	return m
}

// Holder judges whether a holder answers, after Saw.
func (m Memory) Holder(st v1alpha1.FluxTriggerStatus, lease *Lease, now time.Time) HolderClaim {
	if lease == nil {
		lease = &Lease{Since: m.absentSince}
	}
	return Holder(HolderSeen{Now: now, Status: st, Lease: *lease, UnansweredSince: m.unansweredSince})
}

// answered returns the memory with the newest answer counted, if it answers the newest request and was not counted before.
// A commit that was applied, by this operation or by one before, has no failures.
func (m Memory) answered(request *v1alpha1.ApplyRequest, handled *v1alpha1.HandledRequest, now time.Time) Memory {
	if request == nil || handled == nil || handled.ID != request.ID || handled.ID == m.handled {
		return m
	}
	m.handled = handled.ID
	if Applied(handled.Outcome) || request.Commit != m.commit {
		m.commit, m.failures, m.failedAt = request.Commit, 0, time.Time{}
	}
	if !Applied(handled.Outcome) {
		m.failures, m.failedAt = m.failures+1, now
	}
	return m
}

// Asked returns the memory after a request was written that names what is known of the branch.
func (m Memory) Asked(b Branch) Memory {
	m.foreign = b.ForeignMoves
	return m
}

// Applied says that an answer means that the commit asked for is applied.
func Applied(o v1alpha1.RequestOutcome) bool {
	return o == v1alpha1.OutcomeSucceeded || o == v1alpha1.OutcomeCurrent
}
