package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/apply"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

var (
	noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	shop = types.NamespacedName{Namespace: "shop", Name: "web"}
)

// fakeMirror says what a test wants, and remembers what it was told.
type fakeMirror struct {
	states  map[string]mirror.State // by target
	set     []mirror.Target
	removed []types.NamespacedName
}

func (m *fakeMirror) Set(t mirror.Target) error { m.set = append(m.set, t); return nil }

func (m *fakeMirror) Remove(name types.NamespacedName) { m.removed = append(m.removed, name) }

func (m *fakeMirror) State(name types.NamespacedName) (mirror.State, bool) {
	s, ok := m.states[name.Name]
	return s, ok
}

// asked is a trigger that holds its applier, the target and provider that bind it, and the reconciler that asks it.
type asked struct {
	*testing.T
	client client.Client
	sent   []map[string]any
	mirror *fakeMirror
	clock  *testclock.FakePassiveClock
	r      *RequestReconciler
	lease  *apply.Lease
	ids    int
}

func ask(t *testing.T, more ...client.Object) *asked {
	t.Helper()
	a := &asked{T: t, clock: testclock.NewFakePassiveClock(noon), mirror: &fakeMirror{states: map[string]mirror.State{
		"web": {Tip: "c1", QuietSince: noon.Add(-time.Hour)},
	}}}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	trigger := &v1alpha1.FluxTrigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "t1"},
		Spec:       v1alpha1.FluxTriggerSpec{QuietPeriod: &metav1.Duration{Duration: 30 * time.Second}},
		Status: v1alpha1.FluxTriggerStatus{
			Source:     &v1alpha1.TriggerSource{URL: "https://git.example/shop", Branch: "main"},
			Conditions: []metav1.Condition{{Type: string(v1alpha1.ConditionHeld), Status: metav1.ConditionTrue, Reason: "Suspended"}},
		},
	}
	provider := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "repo"}, Spec: v1alpha1.GitProviderSpec{URL: "https://git.example/shop.git"}}
	a.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(more, trigger, provider, target("web", "repo"))...).
		WithStatusSubresource(trigger).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, ac runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ac)
			if err != nil {
				return err
			}
			a.sent = append(a.sent, body)
			return merge(ctx, c, body)
		},
	}).Build()
	a.restart()
	return a
}

// restart makes a new reconciler, which remembers nothing.
func (a *asked) restart() {
	a.r = &RequestReconciler{
		Client: a.client, Mirror: a.mirror, Clock: a.clock, Requests: NewRequestCounter(),
		Lease: func(string) *apply.Lease { return a.lease },
		NewID: func() string {
			a.ids++
			return fmt.Sprint("id-", a.ids)
		},
	}
}

// merge does for a trigger's status what the API server does, which merges conditions by their type; the fake one does not.
func merge(ctx context.Context, c client.Client, body map[string]any) error {
	var sent, there v1alpha1.FluxTrigger
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body, &sent); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(&sent), &there); err != nil {
		return err
	}
	if sent.ResourceVersion != there.ResourceVersion || sent.UID != there.UID {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("fluxtriggers").GroupResource(), sent.Name, errors.New("it changed"))
	}
	there.Status.Request = sent.Status.Request
	for _, next := range sent.Status.Conditions {
		if old := status.Get(there.Status.Conditions, v1alpha1.ConditionType(next.Type)); old != nil {
			*old = next
		} else {
			there.Status.Conditions = append(there.Status.Conditions, next)
		}
	}
	return c.Status().Update(ctx, &there)
}

// target is a GitTarget that names the trigger.
func target(name, provider string) *v1alpha1.GitTarget {
	return &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: v1alpha1.GitTargetSpec{
		GitProviderRef: v1alpha1.LocalReference{Name: provider}, Branch: "main", Path: "apps",
		ApplyTriggerRef: &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: "web"},
	}}
}

// pass reconciles once and returns the trigger as it is then.
func (a *asked) pass() (*v1alpha1.FluxTrigger, ctrl.Result) {
	a.Helper()
	res, err := a.r.Reconcile(a.Context(), ctrl.Request{NamespacedName: shop})
	if err != nil {
		a.Fatal(err)
	}
	return a.trigger(), res
}

func (a *asked) trigger() *v1alpha1.FluxTrigger {
	a.Helper()
	t := &v1alpha1.FluxTrigger{}
	if err := a.client.Get(a.Context(), shop, t); err != nil {
		a.Fatal(err)
	}
	return t
}

// answer is the holder's answer to the newest request.
func (a *asked) answer(o v1alpha1.RequestOutcome) {
	a.Helper()
	t := a.trigger()
	t.Status.LastHandledRequest = &v1alpha1.HandledRequest{ID: t.Status.Request.ID, Outcome: o}
	if err := a.client.Status().Update(a.Context(), t); err != nil {
		a.Fatal(err)
	}
}

func TestARequestIsAllThatIsWrittenOnATriggerAndOnlyOnTheOneThatWasRead(t *testing.T) {
	a := ask(t)
	read := a.trigger()
	a.pass()
	want := []map[string]any{{
		"apiVersion": "holdfast.dev/v1alpha1", "kind": "FluxTrigger",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "t1", "resourceVersion": read.ResourceVersion},
		"status": map[string]any{"request": map[string]any{
			"id": "id-1", "reason": "CatchUp", "commit": "c1", "revision": "main@sha1:c1", "requestedAt": "2030-01-02T12:00:00Z",
		}},
	}}
	if diff := cmp.Diff(want, a.sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, res := a.pass(); len(a.sent) != 1 || res.RequeueAfter != 30*time.Second {
		t.Errorf("%d writes, then %+v", len(a.sent), res)
	}
}

func TestARequestThatNobodyAnswersIsAMissingHolder(t *testing.T) { // B2
	a := ask(t)
	a.pass()
	a.pass()
	a.clock.SetTime(a.clock.Now().Add(30 * time.Second))
	f, _ := a.pass()
	c := status.Get(f.Status.Conditions, v1alpha1.ConditionHolderAvailable)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != string(v1alpha1.ReasonHolderMissing) {
		t.Fatalf("HolderAvailable is %+v", c)
	}
	if f.Status.Request == nil || !status.IsTrue(f.Status.Conditions, v1alpha1.ConditionHeld) {
		t.Errorf("the request or the holder's own condition went with the write: %+v", f.Status)
	}
	a.mirror.states["web"] = mirror.State{Tip: "c2", QuietSince: noon.Add(-time.Hour)}
	if f, _ = a.pass(); f.Status.Request.Commit != "c1" {
		t.Errorf("asked for %s of nobody", f.Status.Request.Commit)
	}
	a.restart()
	if f, _ = a.pass(); f.Status.Request.Commit != "c1" {
		t.Errorf("asked for %s of nobody after a restart", f.Status.Request.Commit)
	}
	a.answer(v1alpha1.OutcomeStale)
	f, _ = a.pass()
	if !status.IsTrue(f.Status.Conditions, v1alpha1.ConditionHolderAvailable) || f.Status.Request.Commit != "c2" {
		t.Errorf("with an answer there is a holder to ask: %+v, request %+v", f.Status.Conditions, f.Status.Request)
	}
}

func TestALeaseThatIsNotRenewedIsAMissingHolder(t *testing.T) {
	a := ask(t)
	f := a.trigger()
	f.Status.Holder = "flux-system/holdfast-holder-kc-0"
	if err := a.client.Status().Update(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	a.lease = &apply.Lease{Present: true, Renewed: true, Since: noon.Add(-30 * time.Second), Lasts: 30 * time.Second}
	if f, _ = a.pass(); conditions.HolderMissing(f.Status.Conditions) == nil || f.Status.Request != nil {
		t.Errorf("asked for %+v of %+v", f.Status.Request, f.Status.Conditions)
	}
	a.lease.Since = noon
	f, res := a.pass()
	if !status.IsTrue(f.Status.Conditions, v1alpha1.ConditionHolderAvailable) || f.Status.Request == nil || res.RequeueAfter != 30*time.Second {
		t.Errorf("renewed: asked for %+v of %+v, then %+v", f.Status.Request, f.Status.Conditions, res)
	}
}

func TestNothingIsAskedForWhile(t *testing.T) {
	for says, state := range map[string]mirror.State{
		"an edit waits":             {Tip: "c1", Busy: true, QuietSince: noon.Add(-time.Hour)},
		"a stream does not run":     {Tip: "c1", Blind: true, QuietSince: noon.Add(-time.Hour)},
		"the tip is not known":      {QuietSince: noon.Add(-time.Hour)},
		"the branch has just moved": {Tip: "c1", QuietSince: noon.Add(-time.Second)},
	} {
		t.Run(says, func(t *testing.T) {
			a := ask(t)
			a.mirror.states["web"] = state
			f, res := a.pass()
			if f.Status.Request != nil {
				t.Errorf("asked for %+v", f.Status.Request)
			}
			if quiet := 29 * time.Second; says == "the branch has just moved" && res.RequeueAfter != quiet {
				t.Errorf("it comes back after %v, want %v", res.RequeueAfter, quiet)
			}
		})
	}
}

func TestOnlyTargetsThatWriteWhatTheApplierFetchesCount(t *testing.T) {
	other := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}, Spec: v1alpha1.GitProviderSpec{URL: "https://git.example/other"}}
	a := ask(t, other, target("zz", "other"))
	a.mirror.states["zz"] = mirror.State{Tip: "zz", Busy: true, QuietSince: noon}
	if f, _ := a.pass(); f.Status.Request == nil || f.Status.Request.Commit != "c1" {
		t.Errorf("asked for %+v", f.Status.Request)
	}
}

func TestOneBusyTargetOfSeveralIsEnough(t *testing.T) {
	a := ask(t, target("zz", "repo"))
	a.mirror.states["zz"] = mirror.State{Tip: "c1", Busy: true, QuietSince: noon.Add(-time.Hour)}
	if f, _ := a.pass(); f.Status.Request != nil {
		t.Errorf("asked for %+v", f.Status.Request)
	}
}

func TestAFailedApplyIsAskedForAgainMoreAndMoreSlowly(t *testing.T) {
	a := ask(t)
	f, _ := a.pass()
	for _, wait := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute} {
		a.answer(v1alpha1.OutcomeFailed)
		id := f.Status.Request.ID
		for range 3 { // however often somebody looks
			var res ctrl.Result
			if f, res = a.pass(); f.Status.Request.ID != id || res.RequeueAfter != wait {
				t.Fatalf("request %s, again after %v, want %s after %v", f.Status.Request.ID, res.RequeueAfter, id, wait)
			}
		}
		a.clock.SetTime(a.clock.Now().Add(wait))
		if f, _ = a.pass(); f.Status.Request.ID == id {
			t.Fatalf("not asked again after %v", wait)
		}
	}
}

func TestAfterARestartTheTipThatWasAppliedIsNotAskedForAgain(t *testing.T) {
	a := ask(t)
	a.pass()
	a.answer(v1alpha1.OutcomeSucceeded)
	a.restart()
	if f, res := a.pass(); f.Status.Request.ID != "id-1" || res.RequeueAfter != 0 {
		t.Errorf("request %+v, %+v", f.Status.Request, res)
	}
}

func TestSomebodyElsesPushIsTheReason(t *testing.T) {
	a := ask(t)
	a.pass()
	a.answer(v1alpha1.OutcomeSucceeded)
	a.mirror.states["web"] = mirror.State{Tip: "c2", ForeignMoves: 1, QuietSince: noon.Add(-time.Hour)}
	if f, _ := a.pass(); f.Status.Request.Reason != v1alpha1.ApplyForeignCommit {
		t.Errorf("asked because of %s", f.Status.Request.Reason)
	}
	a.answer(v1alpha1.OutcomeSucceeded)
	a.mirror.states["web"] = mirror.State{Tip: "c3", ForeignMoves: 1, QuietSince: noon.Add(-time.Hour)}
	if f, _ := a.pass(); f.Status.Request.Reason != v1alpha1.ApplyPublish {
		t.Errorf("asked because of %s", f.Status.Request.Reason)
	}
}

func TestALostRaceIsDecidedAnew(t *testing.T) {
	a := ask(t)
	stale := a.trigger()
	moved := a.trigger()
	moved.Labels = map[string]string{"moved": "on"}
	if err := a.client.Update(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	a.r.Client = staleReader{a.client, stale}
	f, res := a.pass()
	if f.Status.Request != nil || res.RequeueAfter == 0 {
		t.Errorf("request %+v, %+v", f.Status.Request, res)
	}
	a.r.Client = a.client
	if f, _ = a.pass(); f.Status.Request == nil {
		t.Error("not asked in the next pass")
	}
}

func TestATriggerThatIsGoneIsForgotten(t *testing.T) {
	a := ask(t)
	a.pass()
	if err := a.client.Delete(t.Context(), a.trigger()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err != nil {
		t.Fatal(err)
	}
	if len(a.r.memory) != 0 {
		t.Errorf("%d triggers remembered", len(a.r.memory))
	}
}

// staleReader is a client whose cache lags behind with one trigger.
type staleReader struct {
	client.Client
	trigger *v1alpha1.FluxTrigger
}

func (s staleReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	f, ok := obj.(*v1alpha1.FluxTrigger)
	if !ok {
		return s.Client.Get(ctx, key, obj, opts...)
	}
	if key != client.ObjectKeyFromObject(s.trigger) {
		return errors.New("another trigger")
	}
	s.trigger.DeepCopyInto(f)
	return nil
}
