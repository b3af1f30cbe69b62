package leader

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

// watched is a Watcher for pod a and the informer it reads from, under a clock that the test moves.
func watched(t *testing.T) (*Watcher, *controllertest.FakeInformer) {
	t.Helper()
	informers := &informertest.FakeInformers{}
	w, err := Watch(t.Context(), informers, LeaseOf("flux-system", ""), "a")
	if err != nil {
		t.Fatal(err)
	}
	informer, err := informers.FakeInformerFor(t.Context(), &coordinationv1.Lease{})
	if err != nil {
		t.Fatal(err)
	}
	return w, informer
}

// leaseOf is a Lease of ten seconds; renewed is by a clock that is wrong.
func leaseOf(identity string) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(time.Now().Add(-time.Hour))
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &identity, LeaseDurationSeconds: ptr.To[int32](10), RenewTime: &renewed, AcquireTime: &renewed,
	}}
}

// woken reports whether every trigger is to be looked at again, once everything that runs has come to rest.
func woken(w *Watcher) bool {
	synctest.Wait()
	select {
	case <-w.Changes():
		return true
	default:
		return false
	}
}

func TestAWatcherSaysWhoLeadsAndWakesOnceALeaseAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, informer := watched(t)
		if s := w.State(); s.Leads || s.Controller != "" || woken(w) {
			t.Errorf("before the Lease was read: %+v", s)
		}
		informer.Add(leaseOf("a_1"))
		if s := w.State(); !s.Leads || s.Controller != "a_1" || s.Since != 0 || s.Lease != 10*time.Second {
			t.Errorf("the pod's own controller leads: %+v", s)
		}
		if !woken(w) {
			t.Error("not woken when a leader was seen")
		}
		time.Sleep(6 * time.Second)
		informer.Update(leaseOf("a_1"), leaseOf("a_1"))
		if woken(w) {
			t.Error("woken by a renewal")
		}
		informer.Update(leaseOf("a_1"), leaseOf("b_1"))
		if s := w.State(); s.Leads || s.Controller != "b_1" || s.Since != 0 {
			t.Errorf("another pod leads: %+v", s)
		}
		if !woken(w) {
			t.Error("not woken when another pod led")
		}
		time.Sleep(10*time.Second - 1)
		if woken(w) {
			t.Error("woken before the old leader's Lease had passed")
		}
		time.Sleep(time.Nanosecond)
		if !woken(w) {
			t.Error("not woken when the old leader's Lease had passed")
		}
		if s := w.State(); s.Since < s.Lease {
			t.Errorf("woken, and the Lease has not passed: %+v", s)
		}
		informer.Delete(leaseOf("b_1"))
		if s := w.State(); s.Leads || s.Controller != "" || !woken(w) {
			t.Errorf("the Lease is gone: %+v", s)
		}
		time.Sleep(time.Hour) // nothing is left running
	})
}

func TestChangesNobodyTookComeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, informer := watched(t)
		informer.Add(leaseOf("a_1"))
		informer.Update(leaseOf("a_1"), leaseOf("b_1"))
		informer.Update(leaseOf("b_1"), leaseOf("a_2"))
		if !woken(w) || woken(w) {
			t.Error("three changes came another number of times than once")
		}
		time.Sleep(time.Hour)
	})
}

func TestWithoutAnElectionTheOneControllerLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Off()
		time.Sleep(time.Minute)
		if s := w.State(); s != (State{Leads: true, Since: time.Minute}) {
			t.Errorf("got %+v", s)
		}
	})
}

func TestLookingKnowsWhatTheInformerHasNotSeenYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, informer := watched(t)
		at := func(identity, version string) *coordinationv1.Lease {
			l := leaseOf(identity)
			l.Namespace, l.Name, l.ResourceVersion = w.lease.Namespace, w.lease.Name, version
			return l
		}
		informer.Add(at("a_1", "7"))
		live := fake.NewClientBuilder().WithObjects(at("b_1", "9")).Build()
		if err := w.Look(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		if s := w.State(); s.Leads || s.Controller != "b_1" {
			t.Errorf("after the look: %+v", s)
		}
		informer.Update(at("a_1", "7"), at("a_2", "8"))
		if s := w.State(); s.Controller != "b_1" {
			t.Errorf("what the informer told late took it back: %+v", s)
		}
		if err := Off().Look(t.Context(), nil); err != nil {
			t.Errorf("without an election: %v", err)
		}
		w.lease.Name = "gone"
		if err := w.Look(t.Context(), live); err != nil || w.State().Controller != "" {
			t.Errorf("without a Lease nobody leads: %+v, %v", w.State(), err)
		}
	})
}
