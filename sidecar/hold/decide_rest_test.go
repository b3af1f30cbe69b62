package hold

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

const (
	atRest    = "Ready=True/Succeeded Held=True/Suspended"
	suspends  = "Suspend fresh | Ready=False/Suspending Held=False/Suspending"
	takesBack = "Suspend fresh event ResumedElsewhere | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved fresh"
)

func TestTheWholeHoldIsKeptUp(t *testing.T) {
	ended := all(finished("Succeeded"), func(s *Seen) { s.Trigger.Status.Operation.SuspendToken = t2 })
	wiped := func(s *Seen) { s.Kustomization.Finalizers = nil }
	check(t, []row{
		{"a wiped finalizer is put back, for kustomize-controller may write its list from a cache", seen(held, wiped), suspends},
		{"held only with the finalizer read back", seen(suspended("x"), handled("x"), wiped), suspends},
		{"another one's finalizer is no part of the hold", seen(held, func(s *Seen) { s.Kustomization.Finalizers = []string{fluxs, ours} }), "Wait | " + atRest},
		{"our trigger's finalizer comes back before the Kustomization is looked at", seen(held, func(s *Seen) { s.Trigger.Finalizers = nil }), "AddFinalizer"},
		{"one that goes and that nobody keeps is as good as gone", seen(held, kDeleting(fluxs)), "Wait 1m0s | Ready=False/ApplierNotFound Held=False/NotConfigured"},
		{"a person's suspend while held changes nothing", seen(held, func(s *Seen) { s.Kustomization.Spec.Suspend = true }), "Wait | " + atRest},
		{"a suspend that was handled, and whose token a late controller wrote an older one over, is sent anew", seen(held, ended, requestedAt(t2), handled(t1)), suspends + " | Request Succeeded holdfast-t2 | answer r0 Succeeded"},
		{"once: the new one may take its time", seen(held, ended, requestedAt("fresh"), handled(t1)), "Wait 5m0s | Ready=False/Suspending Held=False/Suspending | Request Succeeded holdfast-t2 | answer r0 Succeeded"},
		{"a finalizer wiped while an operation settles does not delay its end", seen(suspended(t2), operation("Settling"), handled(t2), ran, wiped), "Wait event Applied | Ready=False/Suspending Held=False/Suspending | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
	})
}

func TestWhatOthersResumedIsAnOperationOfTheirs(t *testing.T) { // B13
	const by = "field manager flux (Update)"
	taken := all(held, externalOp(by), suspended(t2))
	check(t, []row{
		{"a resume is suspended at once, and recorded with that", seen(held, resumedBy("flux")), takesBack},
		{"also while the trigger may not hold any more", seen(held, resumedBy("flux"), verdict(v1alpha1.ReasonSourceMismatch)), "Suspend fresh event ResumedElsewhere | Ready=False/SourceMismatch Held=False/Suspending | External Unresolved fresh"},
		{"a request that waits has no answer yet", seen(held, resumedBy("flux"), request("r1", c1)), takesBack},
		{"it is Unresolved until the suspend is handled", seen(taken), "Wait 5m0s | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved holdfast-t2"},
		{"a second resume is suspended again, and it stays Unresolved", seen(taken, resumedBy("flux")), "Suspend fresh event ResumedElsewhere | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved fresh"},
		{"being Unresolved for long is no news", seen(taken, later(time.Hour)), "Wait 1m0s | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved holdfast-t2"},
		{"what it applied is known then", seen(taken, handled(t2), ran), "Wait | " + atRest + " | External Succeeded holdfast-t2"},
		{"a run of theirs that failed is theirs", seen(taken, handled(t2), ready("False", "BuildFailed")), "Wait | Ready=False/ApplyFailed Held=True/Suspended | External Failed holdfast-t2"},
		{"a run of theirs that died is theirs", seen(taken, handled(t2), ready("Unknown", "Progressing")), "Wait | Ready=False/ApplyFailed Held=True/Suspended | External Failed holdfast-t2"},
		{"nothing ran, nothing stays in the record", seen(taken, handled(t2)), "Wait | " + atRest},
		{"a newer request waits until it is over", seen(taken, request("r2", c1)), "Wait 5m0s | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved holdfast-t2"},
		{"a run nobody was seen to resume is recorded", seen(held, ran), "Wait event ResumedElsewhere | " + atRest + " | External Succeeded"},
		{"and goes before a request", seen(held, ran, request("r1", c1)), "Wait event ResumedElsewhere | " + atRest + " | External Succeeded"},
	})

	got := Decide(seen(held, externalOp(by), suspended(t2), handled(t2), ran, applied(rev(c2)))).Status.History[0]
	if got.Commit != c2 || got.By != by || got.Token != "seen-1" {
		t.Errorf("the history does not say who applied what: %+v", got)
	}
}

func TestNothingInNormalLifeLooksLikeARunOfOthers(t *testing.T) {
	leftover := func(s *Seen) {
		s.Kustomization.Status.Conditions = []metav1.Condition{
			{Type: "Ready", Status: "Unknown", Reason: "Progressing", LastTransitionTime: past},
			{Type: "Reconciling", Status: "True", Reason: "ProgressingWithRetry", LastTransitionTime: past, ObservedGeneration: 7},
		}
	}
	// settled is the state after Decide wrote its status for a.
	settled := func(a edit, more ...edit) Seen {
		s := seen(a)
		s.Trigger.Status = *Decide(s).Status
		for _, e := range more {
			e(&s)
		}
		return s
	}
	check(t, []row{
		{"a run that ended before the adoption was handled", seen(suspended("x"), ran, handled("x")), "Wait | " + atRest},
		{"Ready Unknown left over by a controller that died, at rest", settled(all(suspended("x"), handled("x"), leftover)), "Wait | " + atRest},
		{"observedGeneration and Reconciling, which a suspended pass writes", seen(held, func(s *Seen) {
			s.Kustomization.Status.ObservedGeneration, s.Kustomization.Generation = 9, 9
			s.Kustomization.Status.Conditions = append(s.Kustomization.Status.Conditions, metav1.Condition{Type: "Reconciling", Status: "True", Reason: "ProgressingWithRetry"})
		}), "Wait | " + atRest},
		{"the end of our own operation", settled(all(held, suspended(t2), operation("Settling"), handled(t2), ran)), "Wait | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"the end of our own operation while a part of the hold was gone", settled(all(held, suspended(t2), operation("Settling"), handled(t2), ran, heldBy("")), suspended("y"), handled("y")),
			"Wait | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"the end of our own operation while the trigger may not hold", settled(all(held, suspended(t2), operation("Settling"), handled(t2), ran, verdict(v1alpha1.ReasonSourceMismatch)), func(s *Seen) { s.Binding = seen().Binding }),
			"Wait | " + atRest + " | Request Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"the end of a resume of somebody else's", settled(all(held, externalOp("x"), suspended(t2), handled(t2), ran)), "Wait | " + atRest + " | External Succeeded holdfast-t2"},
		{"another Kustomization of the same name", seen(held, anotherUID, ran), "Wait | " + atRest},
		{"one that was handed back and is taken again", settled(all(held, deleting), func(s *Seen) { s.Trigger.DeletionTimestamp = nil }, ran), "Wait | " + atRest},
	})
}

func TestWhatIsCurrentWasAppliedByUsToThisSpec(t *testing.T) {
	asked := all(held, succeeded, request("r1", c1))
	records := "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested | answer r0 Succeeded"
	check(t, []row{
		{"the newest operation applied it", seen(asked), "Wait | " + atRest + " | Request Succeeded | answer r1 Current"},
		{"a person's word is carried out all the same", seen(held, succeeded, annotated("now"), fetchedFor("now")), "Wait again | Ready=True/Succeeded Held=True/Applying | Manual Requested | answer r0 Succeeded"},
		{"not when the spec changed since (B11)", seen(asked, func(s *Seen) { s.Kustomization.Spec.Path = "./other" }), "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested | answer r0 Succeeded"},
		{"not when it is another commit", seen(asked, request("r1", c2), artifact(c2)), records},
		{"not when it failed", seen(held, finished("Failed"), request("r1", c1)), "Wait again | Ready=False/ApplyFailed Held=True/Applying | Request Requested | answer r0 Failed"},
		{"not when Flux says another revision by now", seen(asked, applied(rev(c2))), records},
		{"not when Ready is not True by now", seen(asked, ready("False", "ArtifactFailed"), func(s *Seen) { s.Trigger.Status.AtRest.Baseline = BaselineOf(s.Kustomization) }), records},
		{"not when it was another Kustomization", seen(asked, op(func(o *v1alpha1.Operation) { o.ApplierUID = "k-uid-0" })), records},
		{"not when somebody else applied it: with which spec is not known", seen(asked, op(func(o *v1alpha1.Operation) { o.Origin = v1alpha1.OriginExternal })), "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested | answer r0 Succeeded"},
		{"not when nothing was ever applied by us", seen(held, request("r1", c1)), "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested"},
	})
}

func TestASpecThatWasAnotherInTheMiddleOfAnOperationIsNotKnownToBeApplied(t *testing.T) { // B11
	elsewhere := func(s *Seen) { s.Kustomization.Spec.Path = "./other" }
	start := seen(held, operation("Running"), resumedWith(t1), progressing(8), elsewhere)
	suspend := Decide(start)
	end := seen(held, operation("Settling"), suspended("fresh"), handled("fresh"), ran) // and the path is put back
	end.Trigger.Status.Operation = suspend.Status.Operation
	verdict := Decide(end)
	if got, want := brief(verdict), "Wait event Applied | Ready=False/SpecNotApplied Held=True/Suspended | Request Succeeded fresh | answer r1 Succeeded"; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	request("r2", c1)(&end)
	verdict.Status.Request = end.Trigger.Status.Request
	end.Trigger.Status = *verdict.Status
	if got, want := brief(Decide(end)), "Wait again | Ready=True/Succeeded Held=True/Applying | Request Requested | answer r1 Succeeded"; got != want {
		t.Errorf("asked for again:\n got %s\nwant %s", got, want)
	}
}

func TestASpecThatNoOperationAppliedIsSaid(t *testing.T) { // B11
	changed := func(s *Seen) {
		s.Kustomization.Spec.Path = "./other"
		s.Kustomization.Status.ObservedGeneration = s.Kustomization.Generation
	}
	says := "Wait | Ready=False/SpecNotApplied Held=True/Suspended | Request Succeeded | answer r0 Succeeded"
	check(t, []row{
		{"observedGeneration and Ready prove nothing while suspended", seen(held, succeeded, changed), says},
		{"suspend is no part of the spec that is applied", seen(held, succeeded), "Wait | " + atRest + " | Request Succeeded | answer r0 Succeeded"},
		{"about one that no operation applied nothing is known", seen(held, changed), "Wait | " + atRest},
		{"an operation in flight applies what there is", seen(held, succeeded, changed, operation("Running"), resumedWith(t1)), "Wait 5m0s | Ready=True/Succeeded Held=True/Applying | Request Running | answer r0 Succeeded"},
		{"a record is withdrawn when the spec changes before the resume", seen(held, operation("Requested"), changed), "Suspend fresh | Ready=True/Succeeded Held=True/Applying | Request Settling fresh"},
		{"and asked again", seen(held, operation("Settling"), op(func(o *v1alpha1.Operation) { o.StartedAt = nil }), suspended(t2), handled(t2), changed), "Wait | " + atRest + " | answer r1 RequestFailed"},
	})
}

func TestBehindIsSinceWhenTheSourceIsAhead(t *testing.T) {
	since := func(edits ...edit) *metav1.Time { return Decide(seen(edits...)).Status.BehindSince }
	if got := since(held); got != nil {
		t.Errorf("behind since %s with the tip applied", got)
	}
	if got := since(held, artifact(c2)); !got.Equal(&metav1.Time{Time: now}) {
		t.Errorf("behind since %v, not now", got)
	}
	if got := since(held, artifact(c2), func(s *Seen) { s.Trigger.Status.BehindSince = &past }); !got.Equal(&past) {
		t.Errorf("behind since %v, not since the first time", got)
	}
	for name, e := range map[string]edit{"no artifact": artifact(""), "no source of ours": verdict(v1alpha1.ReasonSourceMismatch), "no Kustomization": noKustomization} {
		if got := since(held, artifact(c2), func(s *Seen) { s.Trigger.Status.BehindSince = &past }, e); got != nil {
			t.Errorf("%s: behind since %s", name, got)
		}
	}
}

func TestAConditionThatStaysKeepsItsTransition(t *testing.T) {
	for name, e := range map[string]edit{"at rest": held, "at work": all(held, operation("Running"), resumedWith(t1)), "refused": noKustomization} {
		s := seen(e)
		s.Trigger.Status = *Decide(s).Status
		later(7 * time.Second)(&s)
		got := Decide(s).Status
		for i, c := range got.Conditions {
			if was := s.Trigger.Status.Conditions[i]; c != was {
				t.Errorf("%s: %+v became %+v", name, was, c)
			}
		}
	}
}

func TestNoCommitIsNamedOfWhatSomebodyElseBegan(t *testing.T) {
	said := op(func(o *v1alpha1.Operation) { o.Message = "resumed by field manager flux (Update)" })
	a := Decide(seen(suspended(t2), externalOp("field manager flux (Update)"), said))
	ready := status.Get(a.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != string(v1alpha1.ReasonOperationUnresolved) || !strings.HasPrefix(ready.Message, "resumed by") {
		t.Errorf("%s: %s", ready.Reason, ready.Message)
	}
}
