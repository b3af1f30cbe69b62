package hold

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAPersonsWord(t *testing.T) {
	records := "Wait again | Ready=True/Succeeded Held=True/Applying | Manual Requested"
	check(t, []row{
		{"has the branch looked at first, also when the artifact seems right", seen(held, annotated("a")), "Fetch holdfast-fetch-" + seen().manualID("a") + " guarded | Ready=True/Succeeded Held=True/Suspended"},
		{"then is recorded for whatever is there", seen(held, annotated("a"), fetchedFor("a"), artifact(c2)), records},
		{"goes before gitmirror's request", seen(held, annotated("a"), fetchedFor("a"), request("r1", c1)), records},
		{"has its answer once", seen(held, annotated("a"), answeredManual("a")), "Wait | " + atRest + " | manual Succeeded"},
		{"counts anew with a new value", seen(held, annotated("b"), answeredManual("a"), fetchedFor("b")), records + " | manual Succeeded"},
		{"counts anew with an old value that comes back", seen(held, annotated("a"), answeredManual("b"), fetchedFor("a"), func(s *Seen) {
			s.Trigger.Status.History = []v1alpha1.Operation{{RequestID: s.manualID("a"), Origin: v1alpha1.OriginManual, Phase: "Succeeded", Token: "t0"}}
		}), records + " | manual Succeeded"},
		{"is not taken for another trigger's of the same value", seen(held, annotated("a"), func(s *Seen) {
			o := *s
			o.Trigger = s.Trigger.DeepCopy()
			o.Trigger.UID = "other-uid"
			token := fetchPrefix + o.manualID("a")
			source(token, token)(s)
		}), "Fetch holdfast-fetch-" + seen().manualID("a") + " guarded | Ready=True/Succeeded Held=True/Suspended"},
		{"waits while nothing is held", seen(suspended("x"), annotated("a")), "Wait 5m0s | Ready=False/Suspending Held=False/Suspending"},
		{"fails when the fetch fails", seen(held, annotated("a"), fetchedFor("a"), func(s *Seen) {
			s.GitRepository.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "GitOperationFailed"}}
		}), "Wait event ApplyRequestFailed | " + atRest + " | manual RequestFailed"},
		{"fails when its source is suspended", seen(held, annotated("a"), fetchedFor("a"), func(s *Seen) { s.GitRepository.Spec.Suspend = true }), "Wait event ApplyRequestFailed | " + atRest + " | manual RequestFailed"},
		{"fails when there is nothing to apply", seen(held, annotated("a"), fetchedFor("a"), artifact("")), "Wait event ApplyRequestFailed | " + atRest + " | manual RequestFailed"},
		{"answers itself and not the request beside it", seen(held, annotated("a"), suspended(t2), operation("Settling"), op(func(o *v1alpha1.Operation) { o.Origin, o.RequestID = v1alpha1.OriginManual, "manual-a" }), handled(t2), ran),
			"Wait event Applied | " + atRest + " | Manual Succeeded holdfast-t2 | manual Succeeded"},
		{"is not lost when the branch moved before the resume", seen(held, annotated("a"), suspended(t2), operation("Settling"), op(func(o *v1alpha1.Operation) {
			o.Origin, o.RequestID, o.StartedAt = v1alpha1.OriginManual, "manual-a", nil
		}), handled(t2), artifact(c2)), "Wait | " + atRest},
	})
	long := seen(held, annotated(strings.Repeat("x", 4096)))
	if id := long.next().id; len(id) > 64 {
		t.Errorf("an id of %d bytes", len(id))
	}
}

func TestOneOperationAtATimeUsesASource(t *testing.T) {
	busy := func(s *Seen) { s.SourceBusy = "team/other" }
	check(t, []row{
		{"a request waits, and looks again, for who is about to use it may think better of it", seen(held, request("r1", c1), busy), "Wait 10s | " + atRest},
		{"nothing is fetched meanwhile, for it would slip a commit under the other", seen(held, request("r1", c2), busy), "Wait 10s | " + atRest},
		{"a person waits too", seen(held, annotated("a"), busy), "Wait 10s | " + atRest},
		{"what is applied already needs no source", seen(held, succeeded, request("r1", c1), busy), "Wait | " + atRest + " | Request Succeeded | answer r1 Current"},
		{"at rest nobody waits", seen(held, busy), "Wait | " + atRest},
		{"an operation in flight goes on", seen(held, operation("Requested"), busy), "Resume holdfast-t1 guarded 5m0s | Ready=True/Succeeded Held=True/Applying | Request Running"},
	})
	a := Decide(seen(held, request("r1", c1), busy))
	if c := a.Status.Conditions[1]; c.Type != "Reconciling" || !strings.Contains(c.Message, "FluxTrigger team/other") {
		t.Errorf("does not say for whom it waits: %+v", c)
	}
}

// refusedOp is an operation the server would not let the holder resume.
func refusedOp(o *v1alpha1.Operation) { o.Abandoned, o.Message = v1alpha1.ReasonForbidden, "why not" }

// unresumed is a Kustomization whose spec is what it was at the record.
func unresumed(s *Seen) { s.Trigger.Status.Operation.Generation = s.Kustomization.Generation }

func TestAWithdrawnRecordWasNeverResumed(t *testing.T) {
	// settled is a record that was suspended anew before anything was known to be resumed.
	settled := all(held, suspended(t2), operation("Settling"), op(func(o *v1alpha1.Operation) { o.StartedAt = nil }), handled(t2))
	check(t, []row{
		{"the branch moved", seen(settled, artifact(c2)), "Wait | " + atRest + " | answer r1 Stale"},
		{"it became refused", seen(settled, verdict(v1alpha1.ReasonSourceMismatch)), "Wait | Ready=False/SourceMismatch Held=False/NotConfigured | answer r1 Rejected"},
		{"the trigger goes", seen(settled, deleting), "Wait | Ready=False/Releasing Held=False/Releasing | answer r1 Rejected"},
		{"nobody names it", seen(settled, verdict(v1alpha1.ReasonNotReferenced)), "Wait | Ready=True/NotReferenced Held=False/Releasing | answer r1 Rejected"},
		{"a part of the hold was gone", seen(settled), "Wait | " + atRest + " | answer r1 RequestFailed"},
		{"it took too long", seen(settled, later(5*time.Minute)), "Wait | " + atRest + " | answer r1 RequestFailed"},
		{"the operation before it comes back", seen(held, finished("Failed"), settled, artifact(c2)), "Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed | answer r1 Stale"},
		{"what left a trace is judged, whatever else is so (a lost resume landed)", seen(settled, ran, artifact(c2)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"the server would not have it resumed", seen(settled, op(refusedOp)), "Wait | " + atRest + " | answer r1 RequestFailed"},
		{"but one of the resumes it took before ran (a lost answer)", seen(settled, op(refusedOp), ran), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"a trace of before the record is none, while nobody can have resumed it", seen(settled, ran, unresumed), "Wait | " + atRest + " | answer r1 RequestFailed"},
		{"nor does one keep it from being resumed: the baseline is taken anew", seen(held, operation("Requested"), ran, unresumed), "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested"},
		{"what was resumed is judged, though nothing ran", seen(held, suspended(t2), operation("Settling"), handled(t2)), "Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2 | answer r1 Failed"},
		{"a record waits five minutes for a token of somebody's", seen(held, operation("Requested"), requestedAt("by-hand"), later(4*time.Minute)), "Wait 1m0s | Ready=True/Succeeded Held=True/Applying | Request Requested"},
		{"and is withdrawn then, rather than resumed long after it was asked for", seen(held, operation("Requested"), requestedAt("by-hand"), later(5*time.Minute)), "Suspend fresh | Ready=True/Succeeded Held=True/Applying | Request Settling fresh"},
		{"a record found after its time is not resumed", seen(held, operation("Requested"), later(time.Hour)), "Suspend fresh | Ready=True/Succeeded Held=True/Applying | Request Settling fresh"},
		{"Ready that moved since the record is a run, so nothing is resumed on top", seen(held, operation("Requested"), ran), "Suspend fresh | Ready=True/Succeeded Held=True/Applying | Request Settling fresh"},
	})
}

func TestRequestsThatFailAlikeAreToldOnce(t *testing.T) {
	failing := all(held, request("r2", c2), source("holdfast-fetch-r2", "holdfast-fetch-r2"), artifact(""))
	last := func(o v1alpha1.RequestOutcome) edit {
		return func(s *Seen) { s.Trigger.Status.LastHandledRequest = &v1alpha1.HandledRequest{ID: "r1", Outcome: o} }
	}
	check(t, []row{
		{"the first", seen(failing), "Wait event ApplyRequestFailed | " + atRest + " | answer r2 RequestFailed"},
		{"the first after another outcome", seen(failing, last("Stale")), "Wait event ApplyRequestFailed | " + atRest + " | answer r2 RequestFailed"},
		{"the second", seen(failing, last("RequestFailed")), "Wait | " + atRest + " | answer r2 RequestFailed"},
	})
}

func TestAppliesThatFailInARowAreToldOnce(t *testing.T) {
	fails := all(held, suspended(t2), operation("Settling"), handled(t2), ready("False", "BuildFailed"))
	before := func(origin v1alpha1.OperationOrigin, phase v1alpha1.OperationPhase) edit {
		return func(s *Seen) { s.Trigger.Status.History = []v1alpha1.Operation{{Origin: origin, Phase: phase}} }
	}
	told := func(edits ...edit) bool { return Decide(seen(edits...)).Event != nil }
	for _, tt := range []struct {
		name string
		seen edit
		want bool
	}{
		{"the first of all", fails, true},
		{"the first after a success", all(fails, before("Request", "Succeeded")), true},
		{"the second in a row", all(fails, before("Request", "Failed")), false},
		{"the second in a row, by a person", all(fails, before("Manual", "Failed")), false},
		{"ours after a failure of somebody else's", all(fails, before("External", "Failed")), true},
		{"one that nobody followed", all(fails, before("Request", "Failed"), op(func(o *v1alpha1.Operation) { o.Abandoned = v1alpha1.ReasonOperationUnfollowed })), true},
	} {
		if got := told(tt.seen); got != tt.want {
			t.Errorf("%s: told %t", tt.name, got)
		}
	}
}

func TestWhatChangedNothingIsNotKept(t *testing.T) {
	again := all(held, succeeded, suspended(t2), operation("Settling"), handled(t2), ran)
	kept := func(edits ...edit) int { return len(Decide(seen(edits...)).Status.History) }
	for _, tt := range []struct {
		name string
		seen edit
		want int
	}{
		{"the same commit to the same spec", again, 1},
		{"another commit", all(again, applied(rev(c2)), artifact(c2)), 2},
		{"another spec", all(again, op(func(o *v1alpha1.Operation) { o.SpecDigest = "x" })), 2},
		{"a failure", all(again, ready("False", "BuildFailed")), 2},
		{"a person's word", all(again, op(func(o *v1alpha1.Operation) { o.Origin = v1alpha1.OriginManual })), 2},
		{"another Kustomization", all(again, func(s *Seen) { s.Trigger.Status.History[0].ApplierUID = "k-uid-0" }), 2},
	} {
		if got := kept(tt.seen); got != tt.want {
			t.Errorf("%s: %d entries, want %d", tt.name, got, tt.want)
		}
	}
}
