package hold

import (
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const applying = "Ready=True/Succeeded Held=True/Applying"

func TestAnOperationNobodyFollowedDoesNotCount(t *testing.T) {
	running := all(held, operation("Running"), resumedWith(t1), stranger)
	told := "Suspend fresh event OperationUnfollowed | " + applying + " | Request Settling fresh OperationUnfollowed"
	check(t, []row{
		{"a holder that starts within a minute follows on", seen(running, later(59*time.Second)), "Wait 4m1s | " + applying + " | Request Running"},
		{"one that starts later suspends, and says so", seen(running, later(time.Minute)), told},
		{"also when the start is to be seen", seen(running, progressing(8), later(time.Minute)), told},
		{"also when the resume was not written down", seen(held, operation("Requested"), resumedWith(t1), stranger, later(time.Minute)), told},
		{"who has followed it goes on following", seen(held, operation("Running"), resumedWith(t1), later(time.Minute)), "Wait 4m0s | " + applying + " | Request Running"},
		{"what was suspended in time is judged as ever", seen(held, suspended(t2), operation("Settling"), handled(t2), ran, stranger, later(time.Hour)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"the verdict stands, though the run went well", seen(held, suspended(t2), operation("Settling"), op(func(o *v1alpha1.Operation) { o.Abandoned = v1alpha1.ReasonOperationUnfollowed }), handled(t2), ran),
			"Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2 OperationUnfollowed | answer r1 Failed"},
	})
}

func TestWhatTakesTooLongIsUnresolvedAndFollowed(t *testing.T) { // B15
	settling := all(held, suspended(t2), operation("Settling"))
	unresolved := all(settling, op(func(o *v1alpha1.Operation) { o.Phase = v1alpha1.OperationUnresolved }))
	is := func(effect string) string {
		return effect + " | Ready=False/OperationUnresolved Held=True/Applying | Request Unresolved holdfast-t2"
	}
	check(t, []row{
		{"not before five minutes", seen(settling, later(5*time.Minute-time.Second)), "Wait 1s | " + applying + " | Request Settling holdfast-t2"},
		{"from five minutes on, told once", seen(settling, later(5*time.Minute)), is("Wait 1s event ApplyUnresolved")},
		{"looked at again after as long as it is late", seen(unresolved, later(5*time.Minute+8*time.Second)), is("Wait 8s")},
		{"which doubles", seen(unresolved, later(5*time.Minute+16*time.Second)), is("Wait 16s")},
		{"up to a minute", seen(unresolved, later(24*time.Hour)), is("Wait 1m0s")},
		{"a suspend that was stamped over is sent again, and it stays Unresolved", seen(unresolved, requestedAt("by-hand"), later(time.Hour)), "Suspend fresh | Ready=False/OperationUnresolved Held=True/Applying | Request Unresolved fresh"},
		{"no other request is served", seen(unresolved, request("r2", c2), later(time.Hour)), is("Wait 1m0s")},
		{"it ends with its verdict however late", seen(unresolved, handled(t2), ran, later(time.Hour)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"a restart follows it", seen(unresolved, stranger, later(time.Hour)), is("Wait 1m0s")},
	})
}

func TestAfterALeaderChangeTheOldProcessIsWaitedOut(t *testing.T) {
	by := func(process string) edit { return op(func(o *v1alpha1.Operation) { o.Controller = process }) }
	settled := all(held, suspended(t2), operation("Settling"), by("old"), handled(t2), ran)
	is := func(effect, token string) string { return effect + " | " + applying + " | Request Settling " + token }
	check(t, []row{
		{"handled by the process that was to handle it", seen(settled, leader("old", time.Hour)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"handled by that process, of which a holder that restarted knows little", seen(settled, leader("old", 0)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"handled by another while the old one may believe that it leads", seen(settled, leader("new", 10*time.Second)), is("Wait 25s", "holdfast-t2")},
		{"out, so a fresh suspend is sent", seen(settled, leader("new", 35*time.Second)), is("Suspend fresh", "fresh")},
		{"and nobody is named twice whom the one before took back", seen(settled, tookBack(t2, "flux"), handled(t2), leader("new", 35*time.Second)), is("Suspend fresh", "fresh")},
		{"which the new one handles", seen(settled, by("new"), leader("new", 36*time.Second)), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"not handled, or no longer: the old one wrote the token it began with over the one that was", seen(settled, handled(t1), leader("new", time.Hour)), is("Suspend fresh", "fresh")},
		{"not handled yet, and the old one may still write", seen(settled, handled("x"), leader("new", time.Second)), is("Wait 5m0s", "holdfast-t2")},
		{"nobody leads for the moment", seen(settled, leader("", 10*time.Second)), is("Wait 25s", "holdfast-t2")},
		{"another leads between resume and start: the run goes on there", seen(held, operation("Running"), resumedWith(t1), by("old"), leader("new", time.Second)), "Wait 5m0s | " + applying + " | Request Running"},
	})

	started := seen(held, operation("Running"), resumedWith(t1), progressing(8), by("old"), leader("new", time.Second))
	if got := Decide(started).Status.Operation.Controller; got != "old" {
		t.Errorf("a suspend sent right after the change is taken for %s's word on what the old one began", got)
	}
	if got := Decide(seen(settled, leader("new", time.Minute))).Status.Operation.Controller; got != "new" {
		t.Errorf("the fresh suspend is for %s", got)
	}
}

func TestAStandbyWritesNothing(t *testing.T) {
	resumed := all(held, operation("Running"), resumedWith(t1))
	check(t, []row{
		{"adopts nothing", seen(standby), "Wait"},
		{"serves nothing", seen(held, request("r1", c1), standby), "Wait"},
		{"resumes no record", seen(held, operation("Requested"), standby), "Wait"},
		{"takes nothing back, for the one that leads does", seen(held, resumedBy("flux"), standby), "Wait"},
		{"lets nobody prune", seen(held, kDeleting(ours), standby), "Wait"},
		{"judges nothing", seen(held, suspended(t2), operation("Settling"), handled(t2), ran, standby), "Wait"},
		{"watches what is resumed", seen(resumed, standby, later(time.Minute)), "Wait 5m0s"},
		{"and suspends it when nobody can be there any more", seen(resumed, standby, later(6*time.Minute)), "Suspend fresh"},
		{"also when the resume was not written down", seen(held, operation("Requested"), resumedWith(t1), standby, later(6*time.Minute)), "Suspend fresh"},
		{"but leaves health checks their time where a suspend would end them", seen(resumed, frozenOp("Running"), standby, func(s *Seen) { s.Kustomization.Spec.Interval.Duration = time.Hour }, later(6*time.Minute)), "Wait 59m30s"},
		{"leaves a prune alone", seen(held, kDeleting(ours, fluxs), resumedWith(t1), deletionOp("Running"), standby, later(time.Hour)), "Wait"},
		{"leaves somebody else's resume alone", seen(held, resumedBy("flux"), operation("Settling"), standby, later(time.Hour)), "Wait"},
		{"hands nothing back at first", seen(held, leavingFor(59*time.Second), standby), "Wait 1s"},
		{"hands back when nobody does", seen(held, leavingFor(time.Minute), standby), "Release guarded again event Released | Ready=False/Releasing Held=False/Releasing"},
		{"a hand-back that was called off starts nothing here", seen(held, request("r1", c1), standby, func(s *Seen) { s.Trigger.Status.ReleasingSince = &past }), "Wait"},
		{"of another shard, it is the same", seen(held, request("r1", c1), elsewhere), "Wait"},
		{"of another shard, a moved label hands over without a resume (B20)", seen(held, operation("Requested"), elsewhere), "Wait"},
	})
}

func TestOnlyTheHolderThatActsNamesItself(t *testing.T) { // B20
	named := func(name string) edit {
		return func(s *Seen) { s.Controller.Heartbeat, s.Trigger.Status.Holder = "flux-system/this", name }
	}
	for _, tt := range []struct {
		name string
		seen edit
		want string
	}{
		{"the one that leads", all(held, named("flux-system/that")), "flux-system/this"},
		{"a standby that hands back beside another leaves its name", all(held, named("flux-system/that"), leavingFor(time.Hour), standby), "flux-system/that"},
		{"another shard that hands back too", all(held, named("flux-system/that"), leavingFor(time.Hour), elsewhere), "flux-system/that"},
		{"without a Kustomization nobody knows whose it is", all(named("flux-system/that"), noKustomization), ""},
	} {
		if got := Decide(seen(tt.seen)).Status.Holder; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestASourceIsFrozenWhereASuspendWouldCancelHealthChecks(t *testing.T) {
	resumed := all(held, frozenOp("Running"), frozen(true), resumedWith(t1))
	person := func(s *Seen) { s.GitRepository.Spec.Suspend = true }
	is := func(effect, rest string) string { return effect + " | " + applying + " | Request " + rest }
	check(t, []row{
		{"the freeze is in the record before it is made", seen(held, request("r1", c1), func(s *Seen) { s.Controller.CancelsHealthChecks = true }), is("Wait again", "Requested")},
		{"the source first, guarded", seen(held, frozenOp("Requested")), is("Freeze f1 guarded 5m0s", "Requested")},
		{"then its token", seen(held, frozenOp("Requested"), frozen(false)), is("Wait 5m0s", "Requested")},
		{"a person's token over ours is stamped over", seen(held, frozenOp("Requested"), frozen(false), source("by-hand", "")), is("Freeze f1 guarded 5m0s", "Requested")},
		{"then the resume", seen(held, frozenOp("Requested"), frozen(true)), is("Resume holdfast-t1 guarded 5m0s", "Running")},
		{"a source that somebody suspended is suspended too, by a token of ours", seen(held, frozenOp("Requested"), person), is("Freeze f1 guarded 5m0s", "Requested")},
		{"a commit that came before the freeze is withdrawn", seen(held, frozenOp("Requested"), frozen(true), artifact(c2)), is("Suspend fresh", "Settling fresh")},
		{"a freeze that is never handled is given up", seen(held, frozenOp("Requested"), frozen(false), later(5*time.Minute)), is("Suspend fresh", "Settling fresh")},
		{"a start suspends nothing", seen(resumed, progressing(8)), is("Wait 5m0s", "Running")},
		{"the end of the run does", seen(resumed, ran, handled(t1)), is("Suspend fresh", "Settling fresh")},
		{"a run that failed is an end, before it is tried again", seen(resumed, ready("False", "HealthCheckFailed")), is("Suspend fresh", "Settling fresh")},
		{"a run that never begins is suspended at the deadline (B15)", seen(resumed, later(5*time.Minute)), is("Suspend fresh", "Settling fresh")},
		{"a run that goes on is followed past it", seen(resumed, progressing(8), later(time.Hour)), "Wait 1m0s event ApplyUnresolved | Ready=False/OperationUnresolved Held=True/Applying | Request Unresolved"},
		{"the source is let go before the operation ends", seen(held, frozenOp("Settling"), frozen(true), suspended(t2), handled(t2), ran), "Thaw again"},
		{"also before it is withdrawn", seen(held, frozenOp("Settling"), op(func(o *v1alpha1.Operation) { o.StartedAt = nil }), frozen(true), suspended(t2), handled(t2)), "Thaw again"},
		{"also when the Kustomization is gone", seen(held, frozenOp("Running"), frozen(true), func(s *Seen) { s.Kustomization = nil }), "Thaw again"},
		{"also when the hand-back ran out of time", seen(resumed, leavingFor(10*time.Minute)), "Thaw again"},
		{"then the verdict", seen(held, frozenOp("Settling"), suspended(t2), handled(t2), ran), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"a person's own suspend stays, and ends nothing late", seen(held, frozenOp("Settling"), person, suspended(t2), handled(t2), ran), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"a source that is gone is no matter", seen(held, frozenOp("Settling"), suspended(t2), handled(t2), ran, func(s *Seen) { s.Frozen = nil }), "Wait event Applied | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
	})
}
