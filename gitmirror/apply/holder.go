package apply

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

const (
	// answerWithin is how long a holder may leave a request without an operation or an answer.
	answerWithin = 30 * time.Second
	// leaseComes is how long the Lease a trigger names may be absent: the trigger and the Lease are two streams.
	leaseComes = 5 * time.Second
)

// Lease is what has been seen of the Lease of a holder. Times in the Lease itself are another machine's, whose clock may be
// minutes off; those here are when this process saw something, by its own clock.
type Lease struct {
	Present bool
	Since   time.Time     // the Lease has been as it is, or absent, since then
	Lasts   time.Duration // how long it may be so
	Renewed bool          // it was seen to change, so it is not one that a holder left behind
}

// alive says whether somebody renews the Lease, and whether that can be said yet.
func (l Lease) alive(now time.Time) (alive, known bool) {
	if l.Left(now) <= 0 {
		return false, true
	}
	return l.Present && l.Renewed, l.Present && l.Renewed
}

// Left returns how long the Lease may still be as it is; once that is over, it is not alive.
func (l Lease) Left(now time.Time) time.Duration {
	lasts := l.Lasts
	if !l.Present {
		lasts = leaseComes
	}
	return l.Since.Add(lasts).Sub(now)
}

// Alive says that somebody is known to renew the Lease.
func (l Lease) Alive(now time.Time) bool {
	alive, _ := l.alive(now)
	return alive
}

// HolderSeen is everything Holder may look at.
type HolderSeen struct {
	Now    time.Time // UTC
	Status v1alpha1.FluxTriggerStatus
	Lease  Lease // the one that status.holder names; of no account when it names none
	// UnansweredSince is since when this process has seen the newest request unanswered; zero: it is not.
	UnansweredSince time.Time
}

// HolderClaim is what the condition HolderAvailable says.
type HolderClaim struct {
	// Status is empty while nothing is known: whatever the condition says stays.
	Status  metav1.ConditionStatus
	Reason  v1alpha1.Reason
	Message string
	Wait    time.Duration // look again after so long; 0: only an event changes it
}

// Holder judges whether a holder answers for the trigger. First matching rule wins.
//
// It is missing when its Lease is gone or was not renewed for as long as it lasts, and when a request has no operation and
// no answer for 30s. A holder that renews its Lease and says on the trigger what it waits for is not missing, however long
// that takes. What one process has not seen for long enough it does not claim: after a restart the condition stays.
func Holder(s HolderSeen) HolderClaim {
	named := s.Status.Holder != ""
	var alive, known bool
	if named {
		alive, known = s.Lease.alive(s.Now)
	}
	if named && known && !alive {
		return missing(lost(s.Status.Holder, s.Lease))
	}
	if !s.UnansweredSince.IsZero() && !(alive && s.waits()) {
		left := s.UnansweredSince.Add(answerWithin).Sub(s.Now)
		if left <= 0 {
			return missing(fmt.Sprintf("request %s is not answered after %s", s.Status.Request.ID, answerWithin))
		}
		return HolderClaim{Wait: Sooner(left, s.next())}
	}
	if named && !known {
		return HolderClaim{Wait: s.next()}
	}
	if !named && s.Status.LastHandledRequest == nil {
		return HolderClaim{}
	}
	return HolderClaim{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHolderRunning, Message: "a holder answers", Wait: s.next()}
}

// missing is the claim that no holder answers, because of why.
func missing(why string) HolderClaim {
	return HolderClaim{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHolderMissing, Message: "no holder answers: " + why +
		". The Kustomization stays as it is, and nothing is asked for; see that a holder runs beside its kustomize-controller"}
}

// lost says what became of the Lease called name.
func lost(name string, l Lease) string {
	if !l.Present {
		return fmt.Sprintf("its Lease %s (status.holder) is gone", name)
	}
	return fmt.Sprintf("its Lease %s (status.holder) was not renewed for %s", name, l.Lasts)
}

// waits says that the holder is at work on the trigger, or says what it waits for.
func (s HolderSeen) waits() bool {
	return InFlight(s.Status.Operation) || status.IsTrue(s.Status.Conditions, v1alpha1.ConditionReconciling)
}

// next returns when the Lease has to be looked at again; 0 when the trigger names none.
func (s HolderSeen) next() time.Duration {
	if s.Status.Holder == "" {
		return 0
	}
	return max(s.Lease.Left(s.Now), 0)
}

// Unanswered says that the newest request has neither an answer nor an operation.
func Unanswered(st v1alpha1.FluxTriggerStatus) bool {
	switch {
	case st.Request == nil:
		return false
	case st.LastHandledRequest != nil && st.LastHandledRequest.ID == st.Request.ID:
		return false
	}
	return st.Operation == nil || st.Operation.RequestID != st.Request.ID
}

// InFlight says that there is an operation that is not over.
func InFlight(o *v1alpha1.Operation) bool { return o != nil && !o.Phase.Final() }

// Sooner returns the smaller of two waits, of which 0 means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
