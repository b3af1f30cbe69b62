package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
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
	s.wrote("suspended and told", "suspend", "event OperationUnfollowed", "status Settling")
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
	s.wrote("and suspended when it starts", "suspend", "status Settling")
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
