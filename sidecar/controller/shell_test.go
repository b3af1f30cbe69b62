package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

func TestAdoptionIsFinalizerThenSuspendThenHandled(t *testing.T) {
	s := newStage(t)
	s.wrote("first its finalizer", "finalizers")
	s.wrote("then the suspend", "suspend guarded", "status")
	if len(s.pass()) != 0 {
		t.Error("wrote while Flux has not handled the suspend")
	}
	if status.IsTrue(s.trigger().Status.Conditions, v1alpha1.ConditionHeld) {
		t.Error("held before Flux has seen it")
	}
	s.fluxWrites(handlesToken)
	s.wrote("then it is held", "status")
	k := s.kustomization()
	if !k.Spec.Suspend || k.Annotations[v1alpha1.HeldByAnnotation] != "cluster/app-uid" {
		t.Errorf("suspend %v, annotations %v", k.Spec.Suspend, k.Annotations)
	}
}

func TestOneOperationWritesInThisOrder(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.wrote("recorded, then resumed, then said", "status Requested", "resume guarded", "status Running")
	s.fluxWrites(starts)
	s.wrote("suspended as soon as it started", "suspend guarded", "status Settling")
	s.fluxWrites(succeeds)
	if len(s.pass()) != 0 {
		t.Error("judged before the suspend was handled")
	}
	s.fluxWrites(handlesToken)
	s.wrote("judged, answered and told", "status Succeeded", "event Applied")
	f := s.trigger()
	if h := f.Status.LastHandledRequest; h == nil || h.ID != "r1" || h.Outcome != v1alpha1.OutcomeSucceeded || h.Token != f.Status.Operation.Token {
		t.Errorf("answered %+v", h)
	}
	if f.Status.Request == nil || f.Status.Request.ID != "r1" {
		t.Errorf("the request is gitmirror's, and now it is %+v", f.Status.Request)
	}
	if !s.kustomization().Spec.Suspend {
		t.Error("left resumed")
	}
}

func TestATriggerAtRestSendsNothing(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.live = 0
	res, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || res.RequeueAfter != 0 || s.live != 0 || len(s.pass()) != 0 {
		t.Errorf("err %v, timer %s, %d live reads, writes %v", err, res.RequeueAfter, s.live, s.writes)
	}
}

func TestNothingIsResumedWhenTheRecordCannotBeWritten(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.before = func(write string) error {
		if strings.HasPrefix(write, "status") {
			return errors.New("connection refused")
		}
		return nil
	}
	s.writes = nil
	if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err == nil || len(s.writes) != 0 {
		t.Errorf("err %v after %v", err, s.writes)
	}
	if !s.kustomization().Spec.Suspend {
		t.Error("resumed")
	}
}

func TestAResumeThatFindsTheKustomizationChangedDecidesAgain(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	changed := false
	s.before = func(write string) error {
		if strings.HasPrefix(write, "resume") && !changed { // somebody reconciles by hand between the read and the resume
			changed = true
			k := s.kustomization()
			k.Annotations[meta.ReconcileRequestAnnotation] = "by-hand"
			return s.store.Update(t.Context(), k)
		}
		return nil
	}
	s.pass()
	if k := s.kustomization(); !k.Spec.Suspend || k.Annotations[meta.ReconcileRequestAnnotation] != "by-hand" {
		t.Fatalf("resumed over a change: suspend %v, token %s", k.Spec.Suspend, k.Annotations[meta.ReconcileRequestAnnotation])
	}
	s.fluxWrites(handlesToken)
	s.wrote("resumed once that is handled, for the same record", "resume guarded", "status Running")
	if k, op := s.kustomization(), s.trigger().Status.Operation; k.Annotations[meta.ReconcileRequestAnnotation] != op.Token {
		t.Errorf("resumed with %s, recorded %s", k.Annotations[meta.ReconcileRequestAnnotation], op.Token)
	}
}

func TestAStatusThatChangedSinceIsReadAgain(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	changed := false
	s.before = func(write string) error {
		if write == "status Requested" && !changed { // gitmirror asks for more at the same instant
			changed = true
			s.request("r2")
		}
		return nil
	}
	s.pass()
	if op := s.trigger().Status.Operation; op == nil || op.RequestID != "r2" {
		t.Errorf("recorded %+v over a newer request", op)
	}
}

func TestNothingEndsWhileWhoLeadsIsNotKnown(t *testing.T) {
	s := newStage(t)
	s.r.Leader = leads{unreadable: errors.New("the Lease cannot be read")}
	s.hold()
	s.request("r1")
	s.pass()
	s.fluxWrites(starts)
	s.wrote("suspended all the same", "suspend guarded", "status Settling")
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.pass()
	if op := s.trigger().Status.Operation; op.Phase != v1alpha1.OperationSettling {
		t.Errorf("ended %s: %s", op.Phase, op.Message)
	}
	s.r.Leader = leads{}
	s.r.Heartbeat = s.trigger().Status.Operation.Controller // it was this one all along
	s.wrote("judged when it is known", "status Succeeded", "event Applied")
}

func TestAResumeBySomebodyIsTakenBackOnce(t *testing.T) { // B13
	s := newStage(t)
	s.hold()
	k := s.kustomization()
	k.Spec.Suspend = false
	s.suspendOwner = ownerOf("flux", metav1.ManagedFieldsOperationUpdate)
	if err := s.store.Update(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	s.wrote("suspended again", "suspend guarded", "event ResumedElsewhere", "status Unresolved")
	s.fluxWrites(handlesToken)
	s.wrote("held again, and told once", "status")
	var events eventsv1.EventList
	if err := s.store.List(t.Context(), &events); err != nil || len(events.Items) != 1 || !strings.Contains(events.Items[0].Note, "field manager flux") {
		t.Errorf("err %v, events %+v", err, events.Items)
	}
}

func TestASourceRefThatNamesNothingThatCanBeStopsNoSuspend(t *testing.T) { // B13
	for _, ref := range []kustomizev1.CrossNamespaceSourceReference{
		{Name: "../repo"},
		{Name: ""},
		{Name: strings.Repeat("r", 400)},
		{Name: "repo", Namespace: "team/../team"},
		{Name: "repo", Namespace: strings.Repeat("n", 64)},
	} {
		s := newStage(t)
		s.hold()
		k := s.kustomization()
		k.Spec.Suspend, ref.Kind = false, "GitRepository"
		k.Spec.SourceRef = ref
		s.suspendOwner = ownerOf("flux", metav1.ManagedFieldsOperationUpdate)
		if err := s.store.Update(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		s.wrote("suspended again", "suspend guarded", "event ResumedElsewhere", "status Unresolved")
		if op := s.trigger().Status.Operation; len(op.SourceRef) > 317 {
			t.Errorf("the record names a source of %d bytes", len(op.SourceRef))
		}
		s.fluxWrites(handlesToken)
		s.pass()
		if err := s.store.Delete(t.Context(), s.trigger()); err != nil {
			t.Fatal(err)
		}
		s.wrote("handed back, whatever its source says", "release guarded", "event Released", "status", "finalizers")
	}
}

func TestATakingBackIsToldAlsoWhenItsStatusIsLost(t *testing.T) {
	s := newStage(t)
	s.hold()
	k := s.kustomization()
	k.Spec.Suspend = false
	s.suspendOwner = ownerOf("flux", metav1.ManagedFieldsOperationUpdate)
	if err := s.store.Update(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	changed := false
	s.before = func(write string) error {
		if strings.HasPrefix(write, "status") && !changed { // gitmirror asks at the same instant
			changed = true
			s.request("r1")
		}
		return nil
	}
	s.pass()
	var events eventsv1.EventList
	if err := s.store.List(t.Context(), &events); err != nil || len(events.Items) != 1 {
		t.Errorf("err %v, events %+v", err, events.Items)
	}
}

func TestAnOperationIsFollowedWhateverBecameOfTheTrigger(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.pass()
	f := s.trigger()
	f.Finalizers = nil // taken away by hand, and nobody names the trigger any more
	if err := s.store.Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	target := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}}
	if err := s.store.Delete(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	s.fluxWrites(starts)
	s.wrote("suspended", "suspend guarded", "status Settling")
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.wrote("judged", "status Succeeded", "event Applied")
	s.wrote("handed back", "release guarded", "event Released", "status Succeeded", "status Succeeded")
	if k := s.kustomization(); k.Spec.Suspend || len(k.Annotations) != 0 {
		t.Errorf("suspend %v, annotations %v", k.Spec.Suspend, k.Annotations)
	}
}

func TestARefusalHealsWithoutARestart(t *testing.T) {
	s := newStage(t)
	k := s.kustomization()
	if err := s.store.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	res, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || res.RequeueAfter != time.Minute {
		t.Errorf("err %v, looks again after %s", err, res.RequeueAfter)
	}
	if c := status.Get(s.trigger().Status.Conditions, v1alpha1.ConditionStalled); c == nil || c.Reason != string(v1alpha1.ReasonApplierNotFound) {
		t.Errorf("Stalled is %+v", c)
	}
	k.ResourceVersion = ""
	if err := s.store.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	s.hold()
	if c := status.Get(s.trigger().Status.Conditions, v1alpha1.ConditionStalled); c != nil {
		t.Errorf("still Stalled: %+v", c)
	}
}

func TestAStopSuspendsWhatIsResumedOnce(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.pass()
	s.writes = nil
	for range 2 {
		if err := s.r.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"suspend"}, s.writes); diff != "" {
		t.Error(diff)
	}
	// The next process finds the record, sends a suspend it can name, and judges.
	s.wrote("followed", "suspend guarded", "status Settling")
	s.fluxWrites(handlesToken)
	s.wrote("judged", "status Failed", "event ApplyFailed")
}

func TestAPersonWhoResumesWhileOursIsRefusedIsNamed(t *testing.T) { // B13
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.before = func(write string) error {
		if !strings.HasPrefix(write, "resume") {
			return nil
		}
		s.before = nil
		k := s.kustomization()
		k.Spec.Suspend = false
		k.Generation++
		s.suspendOwner = ownerOf("bob", metav1.ManagedFieldsOperationUpdate)
		if err := s.store.Update(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		return apierrors.NewForbidden(schema.GroupResource{}, "app", nil)
	}
	if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err == nil {
		t.Error("a refusal is no error")
	}
	s.fluxWrites(starts)
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.wrote("taken back, and told of", "suspend guarded", "event ResumedElsewhere", "status Settling")
	if op := s.trigger().Status.Operation; !strings.Contains(op.By, "bob") {
		t.Errorf("resumed by %q", op.By)
	}
}

func TestNothingIsRememberedOfATriggerThatIsGone(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.pass() // suspended, and not handled
	s.pass()
	if n := len(s.r.memory.waiting); n != 1 {
		t.Fatalf("%d waits are kept while it waits", n)
	}
	f := s.trigger()
	f.Finalizers = nil
	if err := errors.Join(s.store.Update(t.Context(), f), s.store.Delete(t.Context(), s.trigger())); err != nil {
		t.Fatal(err)
	}
	s.pass()
	if n := len(s.r.memory.waiting); n != 0 {
		t.Errorf("%d waits are kept", n)
	}
}

func TestASuspendNobodyHandlesIsSentAnew(t *testing.T) {
	s := newStage(t)
	s.pass()
	s.wrote("suspended", "suspend guarded", "status")
	s.wrote("waited for")
	first := s.kustomization().Annotations[meta.ReconcileRequestAnnotation]
	s.now = s.now.Add(5*time.Minute - time.Second)
	s.wrote("waited for")
	s.now = s.now.Add(time.Second)
	s.wrote("sent anew", "suspend guarded")
	if again := s.kustomization().Annotations[meta.ReconcileRequestAnnotation]; again == first {
		t.Errorf("with the token %q again", again)
	}
	s.now = s.now.Add(time.Minute)
	s.wrote("and waited for")
	s.fluxWrites(handlesToken)
	s.wrote("held", "status")
}

func TestAReleaseLeavesNothingBehind(t *testing.T) {
	s := newStage(t)
	s.hold()
	if err := s.store.Delete(t.Context(), s.trigger()); err != nil {
		t.Fatal(err)
	}
	s.wrote("handed back, then let go", "release guarded", "event Released", "status", "finalizers")
	k := s.kustomization()
	if k.Spec.Suspend || len(k.Annotations) != 0 {
		t.Errorf("suspend %v, annotations %v", k.Spec.Suspend, k.Annotations)
	}
	if err := s.store.Get(t.Context(), key, &v1alpha1.FluxTrigger{}); !apierrors.IsNotFound(err) {
		t.Errorf("the trigger is still there: %v", err)
	}
}

func TestACacheThatLagsStartsNoSecondOperation(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.stale = s.trigger() // asked, and not answered yet
	s.pass()
	s.fluxWrites(starts)
	s.pass()
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.pass()
	if op := s.trigger().Status.Operation; op == nil || op.Phase != v1alpha1.OperationSucceeded {
		t.Fatalf("operation %+v", op)
	}
	if w := s.pass(); len(w) != 0 {
		t.Errorf("wrote %v on what the cache still says", w)
	}
}

func TestASuspendThatIsOvertakenReadsAgainAndAfterAWhileGoesBlind(t *testing.T) { // B13
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.pass()
	s.fluxWrites(starts)
	s.before = func(write string) error { // kustomize-controller writes its status all the time
		if strings.HasPrefix(write, "suspend") {
			s.fluxWrites(func(k *kustomizev1.Kustomization) { k.Status.ObservedGeneration++ })
		}
		return nil
	}
	w := s.pass()
	if n := len(w) - 2; n < 2 || n >= blindAfter || slices.Index(w, "suspend") != n || w[n+1] != "status Settling" {
		t.Errorf("wrote %v", w)
	}
}

func TestAWriteThatIsNeverTakenBacksOff(t *testing.T) {
	s := newStage(t)
	s.before = func(write string) error {
		if strings.HasPrefix(write, "suspend") {
			s.writes = append(s.writes, write)
			return applier.ErrMoved
		}
		return nil
	}
	s.pass()
	s.writes = nil
	if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); !errors.Is(err, applier.ErrMoved) || len(s.writes) >= maxPasses {
		t.Errorf("err %v after %d writes", err, len(s.writes))
	}
}
