package hold

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAHeldKustomizationThatIsDeletedIsPrunedAsItSays(t *testing.T) { // B12
	going := all(held, kDeleting(ours, fluxs), inventory("team_a__ConfigMap", "team_b__ConfigMap"))
	resumed := all(going, resumedWith(t1), deletionOp("Running"))
	const gone = "Ready=False/ApplierNotFound Held=True/Applying"
	check(t, []row{
		{"it is recorded first", seen(going), "Wait again | " + gone + " | Deletion Requested"},
		{"also when Flux let it go already, because it was suspended", seen(going, kDeleting(ours)), "Wait again | " + gone + " | Deletion Requested"},
		{"then resumed, guarded", seen(going, deletionOp("Requested")), "Resume holdfast-t1 guarded | " + gone + " | Deletion Running"},
		{"again, when somebody suspended it", seen(resumed, suspended(t1), kDeleting(ours, fluxs)), "Resume holdfast-t1 guarded | " + gone + " | Deletion Running"},
		{"again, when somebody stamped it over", seen(resumed, requestedAt("by-hand")), "Resume holdfast-t1 guarded | " + gone + " | Deletion Running"},
		{"a prune takes its time", seen(resumed), "Wait 5m0s | " + gone + " | Deletion Running"},
		{"a prune that failed keeps Flux's finalizer, and is waited for", seen(resumed, handled(t1)), "Wait 5m0s | " + gone + " | Deletion Running"},
		{"Flux's finalizer alone gone is no prune: it went while it was suspended", seen(resumed, kDeleting(ours)), "Wait 5m0s | " + gone + " | Deletion Running"},
		{"let go when both are so, and told when it is gone, so that it is told once", seen(resumed, kDeleting(ours), handled(t1)), "GiveUp guarded again"},
		{"gone, it has ended", seen(resumed, noKustomization), "Wait event ApplierDeleted | Ready=False/ApplierNotFound Held=False/NotConfigured | Deletion Succeeded"},
		{"Unresolved when Flux does not come", seen(resumed, later(5*time.Minute)), "Wait 1s event ApplyUnresolved | Ready=False/ApplierNotFound Held=True/Applying | Deletion Unresolved"},
		{"an apply in flight is followed to its end before", seen(going, suspended(t2), operation("Settling"), kDeleting(ours, fluxs)), "Wait 5m0s | " + gone + " | Request Settling holdfast-t2"},
		{"a trigger that goes too prunes first", seen(going, leavingFor(time.Minute)), "Wait again | Ready=False/ApplierNotFound Held=False/Releasing | Deletion Requested"},
		{"but not for longer than a hand-back may take", seen(resumed, leavingFor(10*time.Minute)), "Wait event ApplyFailed | Ready=False/ApplierNotFound Held=False/Releasing | Deletion Failed ReleaseFailed"},
		{"and hands back then", seen(going, leavingFor(10*time.Minute)), "Release guarded again event Released | Ready=False/ApplierNotFound Held=False/Releasing"},
		{"what another trigger holds is that one's to let go", seen(going, heldBy(other), otherLives), "Wait 1m0s | Ready=False/ApplierNotFound Held=False/NotConfigured"},
	})
	if op := Decide(seen(going)).Status.Operation; op.SourceRef != "" {
		t.Errorf("a deletion applies nothing, and keeps others from the source %s", op.SourceRef)
	}
	recorded := Decide(seen(going)).Status.Operation
	asRecorded := func(s *Seen) { s.Trigger.Status.Operation = recorded }
	if e := Decide(seen(going, asRecorded, noKustomization)).Event; !strings.Contains(e.Message, "2 objects") || !strings.Contains(e.Message, "deletionPolicy") {
		t.Errorf("%q does not say how many objects, and what became of them", e.Message)
	}
}

func TestAHeldKustomizationThatIsDeletedLeavesEverythingWhereItsTriggerSaysSo(t *testing.T) { // B12
	orphan := func(s *Seen) { s.Trigger.Spec.OnDelete = v1alpha1.OnDeleteOrphan }
	going := all(held, kDeleting(ours, fluxs), orphan)
	const gone = "Ready=False/ApplierNotFound Held=False/NotConfigured"
	check(t, []row{
		{"Flux lets it go while it is suspended", seen(going), "Wait | " + gone},
		{"then so do we", seen(going, kDeleting(ours)), "GiveUp guarded event ApplierDeleted"},
		{"one that somebody resumed is suspended before Flux prunes", seen(going, resumedBy("flux")), "Suspend fresh | " + gone},
		{"an apply in flight is suspended first", seen(going, operation("Running"), resumedWith(t1), progressing(8)), "Suspend fresh | Ready=False/ApplierNotFound Held=True/Applying | Request Settling fresh"},
		{"also before its run has started, for Flux would not start it but prune", seen(going, operation("Running"), resumedWith(t1)), "Suspend fresh | Ready=False/ApplierNotFound Held=True/Applying | Request Settling fresh"},
		{"also where a suspend otherwise waits for the end of the run", seen(going, frozenOp("Running"), frozen(true), resumedWith(t1), progressing(8)), "Suspend fresh | Ready=False/ApplierNotFound Held=True/Applying | Request Settling fresh"},
		{"a trigger that goes too waits for it", seen(going, leavingFor(time.Minute)), "Wait | Ready=False/ApplierNotFound Held=False/Releasing"},
		{"and past its time lets the Kustomization be, for to resume it would be to prune", seen(going, leavingFor(10*time.Minute)), "RemoveFinalizer event ReleaseFailed"},
	})
}

func TestAHandBackEnds(t *testing.T) {
	settling := all(held, suspended(t2), operation("Settling"))
	check(t, []row{
		{"an operation in flight has ten minutes", seen(settling, leavingFor(10*time.Minute-time.Second)), "Wait 5m0s | Ready=False/Releasing Held=False/Releasing | Request Settling holdfast-t2"},
		{"and is given up then", seen(settling, leavingFor(10*time.Minute)), "Wait event ApplyFailed | Ready=False/Releasing Held=False/Releasing | Request Failed holdfast-t2 ReleaseFailed | answer r1 Failed"},
		{"one that is resumed too", seen(held, operation("Running"), resumedWith(t1), leavingFor(10*time.Minute)), "Wait event ApplyFailed | Ready=False/Releasing Held=False/Releasing | Request Failed ReleaseFailed | answer r1 Failed"},
		{"a reference that comes back in the middle takes hold again", seen(finalizer, owner("holdfast", "Apply"), func(s *Seen) { s.Trigger.Status.ReleasingSince = &past }), "Suspend fresh guarded | Ready=False/Suspending Held=False/Suspending"},
		{"one being deleted that we do not keep is let go", seen(held, deleting, kDeleting(fluxs)), "RemoveFinalizer"},
		{"a trigger whose own finalizer was wiped hands back all the same", seen(held, verdict(v1alpha1.ReasonNotReferenced), func(s *Seen) { s.Trigger.Finalizers = nil }), "Release guarded again event Released | Ready=True/NotReferenced Held=False/Releasing"},
		{"one made anew under the name is not touched", seen(finalizer, deleting, anotherUID), "RemoveFinalizer"},
	})

	s := seen(held, deleting)
	if at := Decide(s).Status.ReleasingSince; !at.Equal(&v1Now) {
		t.Errorf("releasing since %v", at)
	}
	s.Trigger.Status.ReleasingSince = &past
	if at := Decide(s).Status.ReleasingSince; !at.Equal(&past) {
		t.Errorf("the bound moved to %v", at)
	}
	s.Trigger.DeletionTimestamp = nil
	if at := Decide(s).Status.ReleasingSince; at != nil {
		t.Errorf("called off, and still releasing since %v", at)
	}
}

var v1Now = instant(now)

func TestWhatFollowsWhenAnEffectIsRefused(t *testing.T) {
	denied := func(verb Verb, forbidden bool, edits ...edit) Action {
		return Denied(seen(edits...), Action{Verb: verb}, "why not", forbidden)
	}
	twice := func(edits ...edit) Action {
		s := seen(edits...)
		return Denied(s, Denied(s, Action{Verb: Resume}, "why not", true), "nor that", true)
	}
	const forbidden = "Ready=False/Forbidden Held="
	for _, tt := range []struct {
		name string
		act  Action
		want string
	}{
		{"an outage is tried again", denied(Suspend, false, held), "Wait"},
		{"a suspend", denied(Suspend, true, finalizer), "Wait | " + forbidden + "False/Suspending"},
		{"a suspend that ends an operation leaves it in flight", denied(Suspend, true, held, operation("Running"), resumedWith(t1)), "Wait | " + forbidden + "True/Applying | Request Running"},
		{"a finalizer of the trigger", denied(AddFinalizer, true), "Wait | " + forbidden + "False/Suspending"},
		{"a fetch answers the request", denied(Fetch, true, held, request("r1", c2)), "Wait | " + forbidden + "True/Suspended | answer r1 RequestFailed"},
		{"a freeze answers nothing yet", denied(Freeze, true, held, frozenOp("Requested")), "Wait | " + forbidden + "True/Applying | Request Requested"},
		{"a thaw leaves the operation in flight", denied(Thaw, true, held, frozenOp("Settling"), frozen(true)), "Wait | " + forbidden + "True/Applying | Request Settling holdfast-t2"},
		{"a resume is suspended anew, for an earlier one may land yet", denied(Resume, true, held, operation("Requested")), "Suspend fresh | " + applying + " | Request Settling fresh Forbidden"},
		{"a resume with a frozen source as well", denied(Resume, true, held, frozenOp("Requested"), frozen(true)), "Suspend fresh | " + applying + " | Request Settling fresh Forbidden"},
		{"when that is refused too, no record is left behind", twice(held, operation("Requested")), "Wait | " + atRest + " | answer r1 RequestFailed"},
		{"and what the record displaced comes back", twice(held, finished("Failed"), operation("Requested")), "Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed | answer r1 RequestFailed"},
		{"a frozen source is let go all the same", twice(held, frozenOp("Requested"), frozen(true)), "Thaw | " + atRest + " | answer r1 RequestFailed"},
		{"a resume to prune is tried again", denied(Resume, true, held, kDeleting(ours), deletionOp("Requested")), "Wait | " + forbidden + "True/Applying | Deletion Requested"},
		{"a release", denied(Release, true, held, deleting), "Wait | " + forbidden + "False/Releasing"},
		{"a release, until its time is up", denied(Release, true, held, leavingFor(10*time.Minute)), "RemoveFinalizer event ReleaseFailed"},
		{"a release that is not taken for another reason, as well", denied(Release, false, held, leavingFor(10*time.Minute)), "RemoveFinalizer event ReleaseFailed"},
		{"letting the trigger go is tried for ever, for nothing else is left", denied(RemoveFinalizer, false, held, leavingFor(time.Hour)), "Wait"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := brief(tt.act); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
	for verb, says := range map[Verb]string{
		Suspend: "change the Kustomization", Fetch: "ask for a fetch of the GitRepository", Freeze: "spec.suspend of the GitRepository",
		Thaw: "spec.suspend of the GitRepository", AddFinalizer: "the trigger's finalizers", GiveUp: "change the Kustomization",
	} {
		if m := denied(verb, true, held).Status.Conditions[0].Message; !strings.Contains(m, says) || !strings.Contains(m, "why not") || !strings.Contains(m, "holdfast-holder") {
			t.Errorf("%s: %q", verb, m)
		}
	}
	if m := denied(Release, true, held, leavingFor(time.Hour)).Event.Message; !strings.Contains(m, "holdfast release team/app") {
		t.Errorf("%q does not say what to do", m)
	}
}
