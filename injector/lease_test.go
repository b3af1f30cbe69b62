package main

import (
	"errors"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// election is a lock over a store of Leases, with the owner that they get.
type election struct {
	t     *testing.T
	store *fake.Clientset
	owner *metav1.OwnerReference
	lock  *resourcelock.LeaseLock
}

func newElection(t *testing.T, there ...runtime.Object) *election {
	t.Helper()
	e := &election{t: t, store: fake.NewClientset(there...), owner: &metav1.OwnerReference{Name: "holdfast-injector", UID: "c"}}
	e.lock = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: leaseName},
		Client:    leases{e.store.CoordinationV1(), func() *metav1.OwnerReference { return e.owner }},
	}
	return e
}

// leads sees to it that somebody leads, and that the Lease has these owners.
func (e *election) leads(who string, owners int) {
	e.t.Helper()
	l, err := e.store.CoordinationV1().Leases("holdfast-system").Get(e.t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != who || len(l.OwnerReferences) != owners {
		e.t.Errorf("holder %v and owners %v, want %s and %d", l.Spec.HolderIdentity, l.OwnerReferences, who, owners)
	}
}

func by(who string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: who, LeaseDurationSeconds: 15}
}

func TestTheLeaseGoesWithTheWebhookConfiguration(t *testing.T) {
	e := newElection(t)
	if err := e.lock.Create(t.Context(), by("a")); err != nil {
		t.Fatal(err)
	}
	e.leads("a", 1)
	if err := e.lock.Update(t.Context(), by("b")); err != nil {
		t.Fatal(err)
	}
	e.leads("b", 1)
}

func TestNobodyLeadsWhileThereIsNoWebhookConfiguration(t *testing.T) {
	e := newElection(t)
	e.owner = nil
	if err := e.lock.Create(t.Context(), by("a")); err == nil {
		t.Error("a Lease was made that nothing takes away")
	}
}

// made is a Lease as one made it that gave it no owner.
func made() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast-system", Name: leaseName}}
}

func TestALeaseWithoutAnOwnerGetsOne(t *testing.T) {
	e := newElection(t, made())
	if _, _, err := e.lock.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.lock.Update(t.Context(), by("a")); err != nil {
		t.Fatal(err)
	}
	e.leads("a", 1)
}

func TestWhoLeadsIsSaidAlsoWhereNoOwnerMayBe(t *testing.T) {
	e := newElection(t, made())
	e.store.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if len(a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease).OwnerReferences) == 0 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, leaseName, errors.New("no right to delete it"))
	})
	if _, _, err := e.lock.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.lock.Update(t.Context(), by("a")); err != nil {
		t.Fatal(err)
	}
	e.leads("a", 0)
}
