package controller

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var beat = types.NamespacedName{Namespace: "flux-system", Name: "holdfast-holder-kc-0"}

// watched is a holder's Lease, a trigger that names it and one that names another, and what watches them.
type watched struct {
	*testing.T
	client client.Client
	clock  *testclock.FakePassiveClock
	h      *Holders
}

func watchLease(t *testing.T, beats ...client.Object) *watched {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	trigger := func(name, holder string) client.Object {
		return &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: v1alpha1.FluxTriggerStatus{Holder: holder}}
	}
	w := &watched{T: t, clock: testclock.NewFakePassiveClock(noon)}
	w.client = fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(append(beats, trigger("web", beat.String()), trigger("api", "flux-system/other"))...).Build()
	w.h = &Holders{Client: w.client, Clock: w.clock, Turned: make(Wakes, 9)}
	return w
}

// lease is the holder's, renewed at an instant of a clock that is an hour off.
func lease(at time.Duration) *coordinationv1.Lease {
	seconds, renewed := int32(30), metav1.NewMicroTime(noon.Add(at-time.Hour))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: beat.Namespace, Name: beat.Name},
		Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
}

// look reconciles the Lease after so long, and returns whether it is alive, what was woken, and when it is due again.
func (w *watched) look(after time.Duration) (alive bool, woken int, again time.Duration) {
	w.Helper()
	w.clock.SetTime(w.clock.Now().Add(after))
	res, err := w.h.Reconcile(w.Context(), ctrl.Request{NamespacedName: beat})
	if err != nil {
		w.Fatal(err)
	}
	for len(w.h.Turned) > 0 {
		if e := <-w.h.Turned; e.Object.GetName() != "web" {
			w.Errorf("the trigger %s of another holder is woken", e.Object.GetName())
		}
		woken++
	}
	l := w.h.Lease(beat.String())
	return l != nil && l.Alive(w.clock.Now()), woken, res.RequeueAfter
}

func (w *watched) renew(at time.Duration) {
	w.Helper()
	there := lease(at)
	if err := w.client.Get(w.Context(), beat, there); err != nil {
		w.Fatal(err)
	}
	there.Spec = lease(at).Spec
	if err := w.client.Update(w.Context(), there); err != nil {
		w.Fatal(err)
	}
}

func TestALeaseIsJudgedByWhenItWasSeenToMove(t *testing.T) {
	w := watchLease(t, lease(0))
	steps := []struct {
		says  string
		after time.Duration
		renew time.Duration // 0: it is as it was
		alive bool
		woken int
		again time.Duration
	}{
		{"a Lease that was there may be left behind", 0, 0, false, 1, 30 * time.Second},
		{"once it moves its holder is alive", 10 * time.Second, 10 * time.Second, true, 1, 30 * time.Second},
		{"a renewal wakes nobody", 10 * time.Second, 20 * time.Second, true, 0, 30 * time.Second},
		{"nor does a look between two", 5 * time.Second, 0, true, 0, 25 * time.Second},
		{"after as long as it lasts its holder is not alive", 25 * time.Second, 0, false, 1, 0},
		{"which is said once", 5 * time.Second, 0, false, 0, 0},
		{"until it is renewed", time.Minute, 2 * time.Minute, true, 1, 30 * time.Second},
	}
	for _, s := range steps {
		if s.renew > 0 {
			w.renew(s.renew)
		}
		if alive, woken, again := w.look(s.after); alive != s.alive || woken != s.woken || again != s.again {
			t.Fatalf("%s: alive %t, %d woken, again after %s", s.says, alive, woken, again)
		}
	}
	if err := w.client.Delete(t.Context(), lease(0)); err != nil {
		t.Fatal(err)
	}
	if _, woken, _ := w.look(0); woken != 1 || w.h.Lease(beat.String()) != nil {
		t.Errorf("gone: %d woken, %+v", woken, w.h.Lease(beat.String()))
	}
	if _, woken, _ := w.look(0); woken != 0 || len(w.h.seen) != 0 {
		t.Errorf("gone for longer: %d woken, %d kept", woken, len(w.h.seen))
	}
}
