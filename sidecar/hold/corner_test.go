package hold

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

func TestNothingIsDoneWhileAnythingItTakesIsMissing(t *testing.T) {
	check(t, []row{
		{"no trigger", seen(func(s *Seen) { s.Trigger = nil }), "Wait"},
		{"no name for this cluster, without which nobody can tell whose hold it is", seen(func(s *Seen) { s.ClusterUID = "" }), "Wait"},
		{"no token", seen(func(s *Seen) { s.FreshToken = "" }), "Wait"},
	})
}

func TestWhoseSuspendCountsForAnOperation(t *testing.T) {
	settles := "Suspend fresh | " + applying + " | Request Settling fresh"
	check(t, []row{
		{"one without a token is nobody's answer to anything", seen(suspended(""), operation("Running")), settles},
		{"a suspend that was sent, and undone since under its own token", seen(held, operation("Settling"), resumedWith(t2)), settles},
		{"what came back after its suspend was sent is not called unfollowed", seen(held, operation("Settling"), resumedWith(t1), stranger, later(time.Minute)), settles},
		{"nor is what a person suspended", seen(held, suspended(t1), operation("Running"), stranger, later(time.Minute)), settles},
		{"who suspends what was resumed and not written down yet is not blamed for a resume", seen(held, suspended(t1), operation("Requested"), flapped("flux")), settles},
		{"nor who suspends what was resumed and stamped over", seen(held, suspended("by-hand"), operation("Running"), flapped("flux")), settles},
		{"a clock may be five minutes off, and not more", seen(held, operation("Running"), resumedWith(t1), later(-5*time.Minute)), "Wait 10m0s | " + applying + " | Request Running"},
	})
}

func TestASuspendLearnsNothingOfASpecThatWasNeverRecorded(t *testing.T) {
	without := op(func(o *v1alpha1.Operation) { o.SpecDigest = "" })
	if got := Decide(seen(held, operation("Running"), without, resumedWith(t1), progressing(8))); got.Verb != Suspend || got.Status.Operation.SpecDigest != "" {
		t.Errorf("%s of spec %q", got.Verb, got.Status.Operation.SpecDigest)
	}
}

func TestAFreshSuspendIsForWhoLeadsOnceTheLeaseIsOver(t *testing.T) {
	settled := all(held, suspended(t2), operation("Settling"), op(func(o *v1alpha1.Operation) { o.Controller = "old" }), handled(t2), ran)
	for _, tt := range []struct {
		name string
		seen edit
		want string
	}{
		{"at the very end of the lease", all(settled, leader("new", 35*time.Second)), "new"},
		{"at once where there is no leader election, or it would be sent for ever", settled, "here"},
	} {
		if got := Decide(seen(tt.seen)); got.Verb != Suspend || got.Status.Operation.Controller != tt.want {
			t.Errorf("%s: %s for %s", tt.name, got.Verb, got.Status.Operation.Controller)
		}
	}
}

func TestWhatBeganInTheFutureOfAStandbysClockIsSuspendedHoweverLongItMayTake(t *testing.T) {
	check(t, []row{
		{"with health checks of a day", seen(held, frozenOp("Running"), frozen(true), resumedWith(t1), standby, func(s *Seen) { s.Kustomization.Spec.Interval.Duration = 24 * time.Hour }, later(-time.Hour)), "Suspend fresh"},
	})
}

func TestARunUnderAFrozenSourceIsLeftToItsEnd(t *testing.T) {
	resumed := all(frozenOp("Running"), frozen(true), resumedWith(t1))
	goesOn := "Wait 5m0s | " + applying + " | Request Running"
	check(t, []row{
		{"Ready was False before it began", seen(held, ready("False", "BuildFailed"), resumed), goesOn},
		{"Ready says progress", seen(held, resumed, ready("Unknown", "Progressing")), goesOn},
		{"Ready is gone", seen(held, resumed, func(s *Seen) { s.Kustomization.Status.Conditions = nil }), goesOn},
		{"a source that is gone cannot be frozen", seen(held, frozenOp("Requested"), func(s *Seen) { s.Frozen = nil }), "Resume holdfast-t1 guarded 5m0s | " + applying + " | Request Running"},
		{"an operation that freezes nothing leaves the source alone", seen(held, operation("Requested"), func(s *Seen) { s.Frozen = s.GitRepository }), "Resume holdfast-t1 guarded 5m0s | " + applying + " | Request Running"},
	})
}

func TestARecordWhoseKustomizationIsGoneEnds(t *testing.T) {
	unadopted := "Ready=False/ApplierNotFound Held=False/NotConfigured"
	check(t, []row{
		{"deleted before the resume", seen(finalizer, operation("Requested"), noKustomization), "Wait event ApplyFailed | " + unadopted + " | Request Failed | answer r1 Failed"},
		{"made anew before the resume", seen(finalizer, operation("Requested"), anotherUID), "Wait event ApplyFailed | Ready=False/Suspending Held=False/Suspending | Request Failed | answer r1 Failed"},
		{"a deletion that was not even resumed", seen(held, deletionOp("Requested"), noKustomization), "Wait event ApplierDeleted | " + unadopted + " | Deletion Succeeded"},
	})
	for _, tt := range []struct {
		seen edit
		says string
	}{
		{noKustomization, "was deleted before the operation ended"},
		{anotherUID, "was deleted and made anew"},
	} {
		if m := Decide(seen(finalizer, operation("Running"), tt.seen)).Status.History[0].Message; !strings.Contains(m, tt.says) {
			t.Errorf("%q does not say that it %s", m, tt.says)
		}
	}
}

func TestADeletionSaysSinceWhenItPrunes(t *testing.T) {
	going := all(held, kDeleting(ours, fluxs))
	check(t, []row{
		{"also when the resume was not written down", seen(going, resumedWith(t1), deletionOp("Requested")), "Wait 5m0s | Ready=False/ApplierNotFound Held=True/Applying | Deletion Running"},
	})
	started := func(edits ...edit) *metav1.Time { return Decide(seen(edits...)).Status.Operation.StartedAt }
	if got := started(going, deletionOp("Requested")); !got.Equal(&v1Now) {
		t.Errorf("first resumed at %v", got)
	}
	if got := started(going, deletionOp("Running"), op(func(o *v1alpha1.Operation) { o.StartedAt = &past })); !got.Equal(&past) {
		t.Errorf("resumed again, and the start moved to %v", got)
	}
}

// byHand is suspended by a person, and only our finalizer is on it.
func byHand(s *Seen) {
	s.Kustomization.Spec.Suspend = true
	s.Kustomization.Finalizers = []string{ours}
	s.Kustomization.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "flux", Operation: "Update", FieldsV1: metav1.NewFieldsV1(ownsField)}}
}

func TestWhatATriggerNeverHeldIsNotItsToResume(t *testing.T) {
	nobody, bare := verdict(v1alpha1.ReasonNotReferenced), func(s *Seen) { s.Trigger.Finalizers = nil }
	others := func(change func(*v1alpha1.FluxTriggerStatus)) edit {
		return all(suspended("x"), handled("x"), heldBy(""), otherLives, otherUnbound, nobody, bare, func(s *Seen) { change(&s.Others[0].Trigger.Status) })
	}
	for name, s := range map[string]Seen{
		"a person's suspend":            seen(nobody, byHand),
		"that of a tenant":              seen(nobody, byHand, func(s *Seen) { s.Admitted, s.KubeProvider = false, nil }),
		"a person's suspend, deleted":   seen(nobody, byHand, kDeleting(ours, fluxs)),
		"deleted, and the trigger not":  seen(byHand, kDeleting(ours, fluxs)),
		"what another held":             seen(others(func(st *v1alpha1.FluxTriggerStatus) { st.AtRest = &v1alpha1.Rest{ApplierUID: "k-uid"} })),
		"what another has in operation": seen(others(func(st *v1alpha1.FluxTriggerStatus) { st.Operation = &v1alpha1.Operation{Phase: "Settling"} })),
	} {
		act := Decide(s)
		records := act.Status != nil && act.Status.Operation != nil
		if act.Verb == Release || act.Verb == Resume || records {
			t.Errorf("%s: %s", name, brief(act))
		}
	}
}

func TestANameThatWasNotSaidStaysUntilItIsAndIsNotSaidTwice(t *testing.T) {
	for name, s := range map[string]Seen{
		"when the suspend is sent anew":        seen(held, tookBack("x", "alice"), handled("rest"), waited(5*time.Minute)),
		"when a part of the hold is made good": seen(held, tookBack("x", "alice"), handled("rest"), func(s *Seen) { s.Kustomization.Finalizers = nil }),
	} {
		if act := Decide(s); act.Verb != Suspend || act.ResumedBy != "alice" {
			t.Errorf("%s: %s forgets alice, and says %q", name, brief(act), act.ResumedBy)
		}
	}
	said := op(func(o *v1alpha1.Operation) { o.By = "alice" })
	for name, s := range map[string]Seen{
		"in an operation that says it":   seen(held, operation("Settling"), said, tookBack(t2, "alice"), requestedAt("bob")),
		"in an operation of her own":     seen(held, externalOp("alice"), tookBack(t2, "alice"), requestedAt("bob")),
		"long after, of another's trace": seen(held, externalOp("alice"), op(func(o *v1alpha1.Operation) { o.Phase, o.Before = v1alpha1.OperationSucceeded, v1alpha1.Baseline{} }), tookBack(t2, "alice"), handled(t2), ran),
	} {
		if act := Decide(s); act.Event != nil && strings.Contains(act.Event.Message, "alice") || act.ResumedBy != "" {
			t.Errorf("%s: %s: %+v", name, brief(act), act.Event)
		}
	}
}

func TestAResumeIsOnlyTakenForTheftOfWhatWasHeld(t *testing.T) {
	check(t, []row{
		{"a mark that was wiped is no resume", seen(held, heldBy("")), "Suspend fresh guarded | Ready=False/Suspending Held=False/Suspending"},
		{"unless by whoever resumed and suspended it as well", seen(held, flapped("flux"), heldBy("")), "Suspend fresh event ResumedElsewhere | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved fresh"},
		{"what was never found held was not held", seen(suspended("x"), flapped("flux")), "Suspend fresh | Ready=False/Suspending Held=False/Suspending"},
	})
}

func TestWhoLeavesKeepsItsHandsOffWhatIsNotItsOwn(t *testing.T) {
	check(t, []row{
		{"a trigger of another cluster holds it", seen(held, deleting, heldBy("elsewhere/uid")), "RemoveFinalizer"},
		{"a standby waits from the deletion on, noted or not", seen(held, standby, func(s *Seen) {
			at := instant(s.Now.Add(-59 * time.Second))
			s.Trigger.DeletionTimestamp = &at
		}), "Wait 1s"},
		{"a standby waits from when nobody named the trigger any more", seen(held, standby, verdict(v1alpha1.ReasonNotReferenced), func(s *Seen) {
			at := instant(s.Now.Add(-59 * time.Second))
			s.Trigger.Status.ReleasingSince = &at
		}), "Wait 1s"},
	})
	if got := Decide(seen(held, otherLives, func(s *Seen) { deleting(&s.Others[0]) }, deleting)).Verb; got != Release {
		t.Errorf("%s: a trigger that goes itself inherits nothing", got)
	}
}

func TestWhatIsKnownAtRestStaysWhileItIsHeld(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen edit
		want bool
	}{
		{"while the trigger may not hold", all(held, verdict(v1alpha1.ReasonSourceMismatch)), true},
		{"while an operation ends before a hand-back", all(held, operation("Running"), resumedWith(t1), progressing(8), deleting), true},
		{"not once nobody names the trigger and nothing is held", func(s *Seen) {
			verdict(v1alpha1.ReasonNotReferenced)(s)
			s.Trigger.Status.AtRest = &v1alpha1.Rest{ApplierUID: "k-uid"}
		}, false},
	} {
		if got := Decide(seen(tt.seen)).Status.AtRest != nil; got != tt.want {
			t.Errorf("%s: known %t", tt.name, got)
		}
	}
}

func TestATriggerHoldsNothing(t *testing.T) {
	says := func(r v1alpha1.Reason) edit {
		return func(s *Seen) {
			status.Set(&s.Trigger.Status.Conditions, v1alpha1.ConditionHeld, "False", r, 3, now, "")
		}
	}
	for _, tt := range []struct {
		name string
		seen edit
		want bool
	}{
		{"before anything was looked at", all(), true},
		{"while nobody names it", says(v1alpha1.ReasonNotReferenced), true},
		{"not after its finalizer was put", finalizer, false},
		{"not with an operation in flight, whoever took the finalizer away", operation("Running"), false},
		{"not while its status speaks of an applier", says(v1alpha1.ReasonSuspending), false},
		{"not while the Kustomization says that it is held by it, whoever took the rest away", all(says(v1alpha1.ReasonNotReferenced), heldBy(cluster+"/trigger-uid")), false},
		{"also while the Kustomization is held by another", all(says(v1alpha1.ReasonNotReferenced), heldBy("cluster/another")), true},
		{"not by its word alone that nobody names it", all(says(v1alpha1.ReasonNotReferenced), finalizer), false},
	} {
		if got := HoldsNothing(seen(tt.seen)); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestARequestWaitsUntilItHasAnAnswerOrAnOperation(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen edit
		want bool
	}{
		{"nobody asked", all(), false},
		{"asked", request("r1", c1), true},
		{"answered", all(request("r1", c1), answered("r1")), false},
		{"on its way", operation("Running"), false},
		{"another one is on its way", all(operation("Running"), request("r2", c1)), true},
	} {
		if got := seen(tt.seen).pending() != nil; got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	check(t, []row{
		{"what ran before is found in the history alone", seen(held, finished("Failed"), request("r0", c1), answered("r9"), func(s *Seen) { s.Trigger.Status.Operation = nil }),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | answer r0 Failed"},
	})
}

func TestWhatPeopleReadSaysWhatItWasAbout(t *testing.T) {
	settled := all(held, suspended(t2), operation("Settling"), handled(t2), ran)
	if m := Decide(seen(settled)).Event.Message; !strings.Contains(m, "("+string(v1alpha1.ApplyPublish)+")") {
		t.Errorf("%q does not say why it was applied", m)
	}
	if m := Decide(seen(settled, op(func(o *v1alpha1.Operation) { o.Reason = "" }))).Event.Message; !strings.Contains(m, "("+string(v1alpha1.OriginRequest)+")") {
		t.Errorf("%q does not say who asked for it", m)
	}
	if m := Decide(seen(settled)).Event.Message; strings.Contains(m, "meanwhile") {
		t.Errorf("%q lays it to somebody", m)
	}
	if m := Decide(seen(settled, op(func(o *v1alpha1.Operation) { o.By = "flux" }))).Event.Message; !strings.Contains(m, "flux resumed it meanwhile") {
		t.Errorf("%q does not say who else resumed it", m)
	}
	if act := Decide(seen(held, tookBack("lost", "flux"), handled("lost"), ran)); act.Status.Operation.By != "flux" || !strings.Contains(act.Event.Message, "resumed by flux") {
		t.Errorf("a run whose resume was taken back by a holder that was killed is laid to %q: %+v", act.Status.Operation.By, act.Event)
	}
	theirs := all(held, externalOp("x"), suspended(t2), handled(t2))
	for _, tt := range []struct {
		seen edit
		says string
	}{
		{ready("False", "BuildFailed"), "Ready says: False, BuildFailed"},
		{func(s *Seen) { s.Kustomization.Status.Conditions = nil }, "Ready says: nothing"},
		{all(ran, applied("")), "did not write down what it applied"},
		{all(historyTop("d1", "ReconciliationSucceeded", 1), op(func(o *v1alpha1.Operation) {
			o.Before.HistoryDigest, o.Before.HistoryStatus, o.Before.HistoryTotal = "d1", "ReconciliationSucceeded", 1
		}), ready("True", "ReconciliationSucceeded")), "did not write down what it applied"},
		{all(ready("True", "ReconciliationSucceeded")), "applied"}, // by a Flux that keeps no history
	} {
		if m := Decide(seen(theirs, tt.seen)).Status.History[0].Message; !strings.Contains(m, tt.says) {
			t.Errorf("%q does not say %q", m, tt.says)
		}
	}
}

func TestTheURLOfASource(t *testing.T) {
	url := func(u string) edit { return func(s *Seen) { s.GitRepository.Spec.URL = u } }
	longest := "https://git.example/" + strings.Repeat("a", maxURL-len("https://git.example/"))
	check(t, []row{
		{"as long as a status takes", seen(held, url(longest)), "Wait | " + atRest},
		{"one byte longer", seen(held, url(longest+"a")), "Wait 1m0s | Ready=False/UnsupportedSource Held=False/NotConfigured"},
	})
	if got := Decide(seen(held, url("git@git.example:team/app"))).Status.Source.URL; got != "git@git.example:team/app" {
		t.Errorf("one that is no URL is published as %s", got)
	}
}

func TestWhatOnlyLooksLikeWhatTheHoldStandsOnIsHeld(t *testing.T) { // B9
	for id, want := range map[string]string{
		"_fluxtriggers.holdfast.dev_example.com_CustomResourceDefinition":                      "",
		"_fluxtriggers.holdfast.dev_apiextensions.k8s.io_ConversionReview":                     "",
		"team_flux-system__ConfigMap":                                                          "",
		"_flux-system_example.com_Namespace":                                                   "",
		"_flux-system__Namespace":                                                              "Namespace flux-system",
		"_fluxtriggers.holdfast.dev_apiextensions.k8s.io_CustomResourceDefinition":             "CustomResourceDefinition fluxtriggers.holdfast.dev",
		"flux-system_source-controller_apps_Deployment":                                        "Deployment flux-system/source-controller",
		"_holdfast-injector_admissionregistration.k8s.io_MutatingWebhookConfiguration":         "MutatingWebhookConfiguration holdfast-injector",
		"flux-system_source-controller_admissionregistration.k8s.io_ValidatingAdmissionPolicy": "",
	} {
		if got := standsOn(seen(inventory(id)).Kustomization, "flux-system"); got != want {
			t.Errorf("%s: stands on %q, want %q", id, got, want)
		}
	}
	if got := standsOn(seen(inventory("not an id", "_flux-system__Namespace")).Kustomization, "flux-system"); got == "" {
		t.Error("what follows an entry that names nothing is not looked at")
	}
}
