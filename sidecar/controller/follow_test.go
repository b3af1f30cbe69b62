package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
)

// resumed takes a stage as far as an operation that is resumed and has not started.
func resumed(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.wrote("resumed", "status Requested", "resume guarded", "status Running")
	return s
}

func TestAHolderThatComesBackTooLateTakesWhatRanForNobodys(t *testing.T) {
	s := resumed(t)
	s.r.memory = memory{} // a crash
	s.now = s.now.Add(2 * time.Minute)
	s.wrote("suspended and told", "suspend guarded", "event OperationUnfollowed", "status Settling")
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.wrote("and it does not count", "status Failed", "event ApplyFailed")
	if op := s.trigger().Status.Operation; op.Abandoned != v1alpha1.ReasonOperationUnfollowed {
		t.Errorf("judged without a word of it: %+v", op)
	}
}

func TestAHolderThatComesBackInTimeFollowsOn(t *testing.T) {
	s := resumed(t)
	s.r.memory = memory{}
	s.now = s.now.Add(30 * time.Second)
	s.wrote("nothing to do yet")
	s.now = s.now.Add(time.Minute)
	s.wrote("followed by now, so time does not count against it")
	s.fluxWrites(starts)
	s.wrote("and suspended when it starts", "suspend guarded", "status Settling")
}

func TestAStopSuspendsAlsoWhatWasResumedAndNotWrittenDown(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	recorded := false
	s.before = func(write string) error {
		if strings.HasPrefix(write, "resume") {
			recorded = true
		} else if recorded && strings.HasPrefix(write, "status") {
			return errors.New("connection refused")
		}
		return nil
	}
	if _, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err == nil {
		t.Fatal("no error")
	}
	s.before = nil
	if err := s.r.Stop(t.Context()); err != nil || !s.kustomization().Spec.Suspend {
		t.Errorf("err %v, suspended %t", err, s.kustomization().Spec.Suspend)
	}
}

func TestAHandBackThatTheServerNeverTakesEnds(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.now = s.now.Add(time.Hour)
	f := s.trigger()
	if err := s.store.Delete(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	s.before = func(write string) error {
		if strings.HasPrefix(write, "release") {
			return applier.ErrMoved // so is told what the schema does not take, however often it is read
		}
		return nil
	}
	pass := func() error {
		_, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		return err
	}
	if err := pass(); err == nil || !errors.Is(err, errStillMoving) {
		t.Fatalf("no error to back off by: %v", err)
	}
	f = s.trigger()
	since := metav1.NewTime(s.now.Add(-10 * time.Minute))
	f.Status.ReleasingSince = &since
	if err := s.store.Status().Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	s.writes = nil
	if err := pass(); err == nil {
		t.Error("a hand-back that failed is no success")
	}
	if err := s.store.Get(t.Context(), key, f); !apierrors.IsNotFound(err) {
		t.Errorf("the trigger is still there after ten minutes (%v), having written %v", err, s.writes)
	}
}

func TestASourceIsClaimedUntilItsRecordIsSeen(t *testing.T) {
	const source = "team/repo"
	a, b := types.UID("a-uid"), types.UID("b-uid")
	nameOfA := types.NamespacedName{Namespace: "team", Name: "a"}
	s := newStage(t)
	m := &s.r.memory
	inUse := func() string {
		t.Helper()
		by, err := s.r.inUse(t.Context(), source, &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b", UID: b}})
		if err != nil {
			t.Fatal(err)
		}
		return by
	}
	if !m.take(source, nameOfA, a) {
		t.Fatal("nobody has it, and it cannot be claimed")
	}
	if m.take(source, types.NamespacedName{Namespace: "team", Name: "b"}, b) {
		t.Error("claimed by two")
	}
	if by := inUse(); by != "team/a" {
		t.Errorf("while the record is on its way it is in use by %q", by)
	}
	if !m.take(source, nameOfA, a) {
		t.Error("who has it cannot claim it again, after a conflict")
	}
	m.written(source, a)
	s.live = 0
	if by := inUse(); by != "" || s.live != 1 {
		t.Errorf("the record never came to be, and it is in use by %q after %d reads", by, s.live)
	}
	if !m.take(source, types.NamespacedName{Namespace: "team", Name: "b"}, b) {
		t.Error("a claim with nothing behind it stays")
	}
	m.drop(source, b)
	if m.take(source, nameOfA, a) {
		t.Error("a claim was dropped while its record was on its way")
	}
}

func TestOnlyAnOperationThatAppliesClaimsItsSource(t *testing.T) {
	next := func(phase v1alpha1.OperationPhase) *v1alpha1.FluxTriggerStatus {
		return &v1alpha1.FluxTriggerStatus{Operation: &v1alpha1.Operation{Phase: phase, SourceRef: "team/repo"}}
	}
	inFlight := &v1alpha1.FluxTrigger{Status: *next(v1alpha1.OperationRequested)}
	for _, tt := range []struct {
		name string
		was  *v1alpha1.FluxTrigger
		next *v1alpha1.FluxTriggerStatus
		want string
	}{
		{"a record", &v1alpha1.FluxTrigger{}, next(v1alpha1.OperationRequested), "team/repo"},
		{"a record after one that ended", &v1alpha1.FluxTrigger{Status: *next(v1alpha1.OperationFailed)}, next(v1alpha1.OperationRequested), "team/repo"},
		{"what is in flight has it", inFlight, next(v1alpha1.OperationRequested), ""},
		{"what somebody else resumed runs already", &v1alpha1.FluxTrigger{}, next(v1alpha1.OperationUnresolved), ""},
		{"no operation", &v1alpha1.FluxTrigger{}, &v1alpha1.FluxTriggerStatus{}, ""},
		{"no status", &v1alpha1.FluxTrigger{}, nil, ""},
	} {
		if got := records(tt.was, tt.next); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
