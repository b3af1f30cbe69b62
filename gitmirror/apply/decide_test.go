package apply

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var (
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tip  = "1111111111111111111111111111111111111111"
	old  = "0000000000000000000000000000000000000000"
)

// due is a held trigger on a quiet branch whose tip nobody asked for; each row changes one thing.
func due(change ...func(*Seen)) Seen {
	s := Seen{
		Now:         noon,
		Branch:      Branch{Name: "main", Tip: tip, QuietSince: noon.Add(-time.Minute)},
		Held:        true,
		QuietPeriod: 30 * time.Second,
		Request:     &v1alpha1.ApplyRequest{ID: "r1", Commit: old, Reason: v1alpha1.ApplyCatchUp},
		Handled:     &v1alpha1.HandledRequest{ID: "r1", Outcome: v1alpha1.OutcomeSucceeded},
		NewID:       "r2",
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// ask is the request the rows expect.
func ask(reason v1alpha1.ApplyReason) Decision {
	return Decision{Ask: &v1alpha1.ApplyRequest{
		ID: "r2", Reason: reason, Commit: tip, Revision: "main@sha1:" + tip, RequestedAt: metav1.NewTime(noon),
	}}
}

// askedFor makes the newest request one for the tip, answered as given; "" leaves it unanswered.
func askedFor(outcome v1alpha1.RequestOutcome, failures int, last time.Time) func(*Seen) {
	return func(s *Seen) {
		s.Request = &v1alpha1.ApplyRequest{ID: "r1", Commit: tip, Reason: v1alpha1.ApplyCatchUp}
		s.Handled = nil
		if outcome != "" {
			s.Handled = &v1alpha1.HandledRequest{ID: "r1", Outcome: outcome}
		}
		s.Memory = Memory{failures: failures, failedAt: last}
	}
}

// running has an operation of that origin in flight.
func running(origin v1alpha1.OperationOrigin) func(*Seen) {
	return func(s *Seen) {
		s.Operation = &v1alpha1.Operation{Origin: origin, Phase: v1alpha1.OperationRunning}
	}
}

func TestDecide(t *testing.T) {
	for _, row := range []struct {
		says string
		seen Seen
		want Decision
	}{
		{"asks for a tip of our own as Publish", due(), ask(v1alpha1.ApplyPublish)},
		{"names a foreign commit over our own", due(func(s *Seen) { s.Branch.ForeignMoves = 1 }), ask(v1alpha1.ApplyForeignCommit)},
		{"asks a trigger that never had a request to catch up",
			due(func(s *Seen) { s.Request, s.Handled = nil, nil }), ask(v1alpha1.ApplyCatchUp)},
		{"asks nothing of a trigger that does not hold", due(func(s *Seen) { s.Held = false }), Decision{}},
		{"asks nothing of a trigger whose holder is missing", due(func(s *Seen) { s.Missing = true }), Decision{}},
		{"asks nothing while a person's apply runs", due(running(v1alpha1.OriginManual)), Decision{}},
		{"nor while a resume that nobody recorded is followed", due(running(v1alpha1.OriginExternal)), Decision{}},
		{"nor while the Kustomization is being deleted", due(running(v1alpha1.OriginDeletion)), Decision{}},
		{"asks for a newer tip while an apply it asked for runs", due(running(v1alpha1.OriginRequest)), ask(v1alpha1.ApplyPublish)},
		{"asks again when somebody else's apply is over", due(running(v1alpha1.OriginManual), func(s *Seen) {
			s.Operation.Phase = v1alpha1.OperationSucceeded
		}), ask(v1alpha1.ApplyPublish)},
		{"asks nothing while the tip is unknown", due(func(s *Seen) { s.Branch.Tip = "" }), Decision{}},
		{"asks nothing while work is in hand", due(func(s *Seen) { s.Branch.Busy = true }), Decision{}},
		{"waits for the rest of the quiet period",
			due(func(s *Seen) { s.Branch.QuietSince = noon.Add(-10 * time.Second) }), Decision{Wait: 20 * time.Second}},
		{"waits for the answer to what it asked", due(askedFor("", 0, noon)), Decision{}},
		{"replaces an unanswered request for an older commit",
			due(func(s *Seen) { s.Handled = nil }), ask(v1alpha1.ApplyPublish)},
		{"does not ask again for what was applied", due(askedFor(v1alpha1.OutcomeSucceeded, 0, noon)), Decision{}},
		{"nor for what was applied before it was asked for", due(askedFor(v1alpha1.OutcomeCurrent, 0, noon)), Decision{}},
		{"does not name a foreign push twice", due(func(s *Seen) { s.Branch.ForeignMoves, s.Memory.foreign = 3, 3 }), ask(v1alpha1.ApplyPublish)},
		{"asks again after a failure, once its wait is over",
			due(askedFor(v1alpha1.OutcomeFailed, 1, noon.Add(-15*time.Second))), ask(v1alpha1.ApplyCatchUp)},
		{"waits after a failure", due(askedFor(v1alpha1.OutcomeFailed, 2, noon.Add(-10*time.Second))), Decision{Wait: 20 * time.Second}},
		{"waits after a request that could not start",
			due(askedFor(v1alpha1.OutcomeRequestFailed, 1, noon)), Decision{Wait: 15 * time.Second}},
		{"waits after a stale answer for the tip it still sees",
			due(askedFor(v1alpha1.OutcomeStale, 1, noon)), Decision{Wait: 15 * time.Second}},
		{"asks at once when what rejected it has changed",
			due(askedFor(v1alpha1.OutcomeRejected, 3, noon)), ask(v1alpha1.ApplyCatchUp)},
		{"an answer to another request is none",
			due(askedFor(v1alpha1.OutcomeSucceeded, 0, noon), func(s *Seen) { s.Handled.ID = "r0" }), Decision{}},
	} {
		t.Run(row.says, func(t *testing.T) {
			if diff := cmp.Diff(row.want, Decide(row.seen)); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBackoffDoublesUpToTenMinutes(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 15 * time.Second, 2: 30 * time.Second, 3: time.Minute, 6: 8 * time.Minute, 7: 10 * time.Minute, 1000: 10 * time.Minute,
	} {
		if got := Backoff(failures); got != want {
			t.Errorf("Backoff(%d) = %s, want %s", failures, got, want)
		}
	}
}

// Whatever is seen, a request is made only for the tip, of a trigger that holds, on a branch without work in hand.
func FuzzDecideAsksOnlyWhenDue(f *testing.F) {
	f.Add(true, false, true, int64(0), int64(0), 0, "Succeeded", true)
	f.Fuzz(func(t *testing.T, held, busy, foreign bool, quiet, period int64, failures int, outcome string, answered bool) {
		s := due(askedFor(v1alpha1.RequestOutcome(outcome), failures, noon))
		s.Held, s.Branch.Busy = held, busy
		if foreign {
			s.Branch.ForeignMoves = 1
		}
		s.Branch.QuietSince, s.QuietPeriod = noon.Add(time.Duration(quiet)), time.Duration(period)
		if !answered {
			s.Handled = nil
		}
		d := Decide(s)
		if d.Ask == nil {
			return
		}
		if !held || busy || !answered || Applied(v1alpha1.RequestOutcome(outcome)) || d.Ask.Commit != tip {
			t.Errorf("asked %+v of %+v", d.Ask, s)
		}
	})
}
