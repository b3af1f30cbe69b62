package hold

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// pieces are what a fuzzed Seen is put together from, one bit of the input each, in this order.
var pieces = []edit{
	finalizer, suspended("rest"), held, handled("rest"), handled(t1), handled(t2), requestedAt(t1), requestedAt(t2), requestedAt(""),
	resumedBy("flux"), resumedWith(t1), heldBy(""), heldBy(other), otherLives,
	request("r1", c1), request("r2", c2), annotated("a"), fetchedFor("a"), finished("Failed"), succeeded,
	operation("Requested"), operation("Running"), operation("Settling"), externalOp("field manager flux (Update)"), deletionOp("Requested"), frozenOp("Running"), frozen(true),
	op2(func(o *v1alpha1.Operation) {
		o.Phase, o.StartedAt, o.SuspendToken = v1alpha1.OperationRequested, nil, ""
	}),
	op2(func(o *v1alpha1.Operation) { o.StartedAt = nil }),
	op2(func(o *v1alpha1.Operation) { o.Phase = v1alpha1.OperationUnresolved }),
	artifact(c2), artifact(""), source("holdfast-fetch-r1", "holdfast-fetch-r1"), source("holdfast-fetch-r2", ""),
	ran, ready("False", "BuildFailed"), historyTop("d9", "HealthCheckFailed", 1), applied(rev(c2)), progressing(8),
	verdict(v1alpha1.ReasonNotReferenced), verdict(v1alpha1.ReasonNotBound),
	deleting, leavingFor(11 * time.Minute), anotherUID, later(10 * time.Minute), flapped("flux"), forged(us), owner("argo", "Apply"),
	standby, elsewhere, stranger, leader("new", 10*time.Second), leader("new", time.Minute),
	func(s *Seen) { s.KubeProvider = nil },
	func(s *Seen) { s.Kustomization.Spec.Path = "./other" },
	func(s *Seen) { s.Trigger.Spec.OnDelete = v1alpha1.OnDeleteOrphan },
	func(s *Seen) { s.SourceBusy = "team/other" },
	func(s *Seen) { s.Kustomization.Finalizers = nil },
	kDeleting(ours), kDeleting(ours, fluxs),
	func(s *Seen) { s.GitRepository = nil },
	noKustomization,
}

// op2 is op where there is an operation.
func op2(change func(*v1alpha1.Operation)) edit {
	return func(s *Seen) {
		if s.Trigger.Status.Operation != nil {
			change(s.Trigger.Status.Operation)
		}
	}
}

// pieced puts the pieces of bits together.
func pieced(bits uint64) Seen {
	s := seen()
	for i, p := range pieces {
		last := i >= len(pieces)-2 // these take away what others change
		if bits&(1<<i) != 0 && (last || s.Kustomization != nil && s.GitRepository != nil) {
			p(&s)
		}
	}
	return s
}

// FuzzDecide holds what no input may break: the rules of the package comment as properties.
func FuzzDecide(f *testing.F) {
	if len(pieces) > 64 {
		f.Fatalf("%d pieces and 64 bits", len(pieces))
	}
	f.Add(uint64(0))
	for i := range pieces {
		f.Add(uint64(1) << i)
		f.Add(uint64(1)<<i | 1<<2)
		f.Add(uint64(1)<<i | 1<<2 | 1<<22)
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		s := pieced(bits)
		a := Decide(s)
		effectsHold(t, s, a)
		if a.Status != nil {
			recordsHold(t, s, a)
			rests(t, s)
		}
	})
}

// effectsHold holds what an effect may be.
func effectsHold(t *testing.T, s Seen, a Action) {
	op := s.Trigger.Status.Operation
	acts := s.Controller.Leads && !s.Controller.Elsewhere
	if a.Verb == Resume && op.Origin != v1alpha1.OriginDeletion {
		if !s.inFlight() || op.Phase != v1alpha1.OperationRequested || a.Token != op.Token {
			t.Errorf("resumed without a record: %+v", op)
		}
		if !s.held() || s.leaving() || s.refusal() != nil {
			t.Error("resumed what is not held")
		}
		if !isAt(artifactRevision(s.GitRepository), op.Commit) || op.SpecDigest != SpecDigest(s.Kustomization) {
			t.Error("resumed while the artifact or the spec is another one")
		}
		if op.FreezeToken != "" && s.Frozen != nil && (!s.Frozen.Spec.Suspend || s.Frozen.Status.LastHandledReconcileAt != op.FreezeToken) {
			t.Error("resumed before its source was frozen")
		}
	}
	if a.Verb == Resume && (!a.Guarded || !acts && !s.leaving()) {
		t.Error("resumed unguarded, or by a holder that does not act")
	}
	if a.Verb == Resume && op.Origin == v1alpha1.OriginDeletion && a.Token != op.Token {
		t.Error("resumed to prune with another token")
	}
	if a.Verb == Suspend && a.Token != s.FreshToken {
		t.Errorf("suspended with the used token %q", a.Token)
	}
	if (a.Verb == Release || a.Verb == RemoveFinalizer) && s.inFlight() && !s.pastRelease() {
		t.Error("let go of an operation in flight")
	}
	if (a.Verb == Release || a.Verb == GiveUp) && !s.inFlight() && ownership.Holder(s.Kustomization) == other {
		t.Error("let go of what another trigger holds")
	}
	if a.Verb == Release && s.Trigger.Spec.OnDelete == v1alpha1.OnDeleteOrphan && !s.Kustomization.DeletionTimestamp.IsZero() {
		t.Error("resumed what is deleted and to be left in place")
	}
	if !acts && !s.leaving() && (a.Status != nil || a.Verb != Wait && a.Verb != Suspend) {
		t.Errorf("a holder that does not act: %s", a.Verb)
	}
}

// recordsHold holds what may be written down.
func recordsHold(t *testing.T, s Seen, a Action) {
	was, is := s.Trigger.Status, a.Status
	if s.inFlight() && (is.Operation == nil || is.Operation.Token != was.Operation.Token || is.Operation.Phase.Final()) {
		endings(t, s, a)
	}
	if op := is.Operation; op != nil && !op.Phase.Final() {
		if op.Commit == "" && (op.Origin == v1alpha1.OriginRequest || op.Origin == v1alpha1.OriginManual) {
			t.Error("recorded an operation for no commit")
		}
		if !s.inFlight() && a.Verb != Wait && op.Origin != v1alpha1.OriginExternal {
			t.Errorf("%s in the pass that records", a.Verb)
		}
		if !s.inFlight() && op.Origin != v1alpha1.OriginExternal && op.Origin != v1alpha1.OriginDeletion && s.SourceBusy != "" {
			t.Error("recorded on a source in use")
		}
	}
	if is.Request != nil {
		t.Error("wrote gitmirror's field")
	}
	if len(is.History) > maxHistory {
		t.Error("history without bound")
	}
}

// endings holds how an operation in flight may end.
func endings(t *testing.T, s Seen, a Action) {
	op, is := s.Trigger.Status.Operation, a.Status
	if op.FreezeToken != "" && s.Frozen != nil && ownership.Suspend(s.Frozen) {
		t.Error("ended with its source frozen")
	}
	same := s.Kustomization != nil && string(s.Kustomization.UID) == op.ApplierUID
	if same && !s.pastRelease() && !s.Kustomization.Spec.Suspend && op.Origin != v1alpha1.OriginDeletion {
		t.Error("ended while it is resumed")
	}
	answer := is.LastHandledRequest
	if op.Origin == v1alpha1.OriginManual {
		answer = is.LastHandledManual
	}
	asked := op.Origin == v1alpha1.OriginRequest || op.Origin == v1alpha1.OriginManual
	if asked && (answer == nil || answer.ID != op.RequestID) {
		t.Error("ended without an answer")
	}
	if is.Operation == nil || is.Operation.Token != op.Token {
		if same && traces(op.Before, s.Kustomization) {
			t.Error("withdrew what ran")
		}
		return
	}
	done := is.Operation
	kept := len(is.History) > 0 && (is.History[0].Token == op.Token || repeats(*done, s.Trigger.Status.History))
	if !kept || done.FinishedAt == nil || done.Message == "" {
		t.Errorf("ended without history, time or verdict: %+v", done)
	}
	if done.Phase == v1alpha1.OperationSucceeded && asked && !isAt(done.AppliedRevision, op.Commit) && done.AppliedRevision != s.tip() {
		t.Error("called Succeeded with another commit applied")
	}
}

// rests holds that a world without faults brings every trigger to rest: passes that write nothing and wait for nobody.
func rests(t *testing.T, s Seen) {
	const enough = 60
	w := world{s}
	for range enough {
		if !w.step() {
			return
		}
	}
	t.Errorf("no rest after %d steps: %s, at %+v", enough, brief(Decide(w.Seen)), w.Trigger.Status.Operation)
}

// world plays the API server, kustomize-controller and source-controller to Decide, without a fault among them.
type world struct{ Seen }

// step performs what Decide says, lets the controllers do their part, and lets time pass; false when nothing happens any
// more. Steps are tokens apart, so that none repeats.
func (w *world) step() bool {
	w.FreshToken += "+"
	if w.inFlight() && w.Trigger.Status.Operation.FreezeToken != "" {
		w.Frozen = w.GitRepository
	}
	before := *w.Trigger.Status.DeepCopy()
	a := Decide(w.Seen)
	moved := a.Verb != Wait
	w.perform(a)
	if a.Status != nil {
		next := *a.Status
		next.Request = before.Request
		moved = moved || !same(before, next)
		w.Trigger.Status = next
	}
	if w.Trigger.DeletionTimestamp != nil && len(w.Trigger.Finalizers) == 0 {
		return false
	}
	moved = w.controllers() || moved
	if !moved && a.Recheck > 0 && w.inFlight() {
		w.Now, moved = w.Now.Add(a.Recheck), true
	}
	if c := &w.Controller; c.LedFor < c.Lease {
		c.LedFor, moved = c.LedFor+10*time.Second, true
	}
	w.Followed = true
	return moved
}

func same(a, b v1alpha1.FluxTriggerStatus) bool {
	return equality.Semantic.DeepEqual(Own(a), Own(b))
}

func (w *world) perform(a Action) {
	k, g := w.Kustomization, w.GitRepository
	switch a.Verb {
	case Wait:
	case AddFinalizer:
		w.Trigger.Finalizers = []string{ours}
	case RemoveFinalizer:
		w.Trigger.Finalizers = nil
	case Suspend, Resume:
		keeps := k.Finalizers
		suspended(a.Token)(&Seen{Trigger: w.Trigger.DeepCopy(), Kustomization: k})
		k.Spec.Suspend = a.Verb == Suspend
		if a.HeldBy != "" {
			k.Annotations[v1alpha1.HeldByAnnotation] = a.HeldBy
		}
		k.Generation++
		if len(keeps) > 1 {
			k.Finalizers = keeps
		}
	case Release, GiveUp:
		k.Finalizers, k.ManagedFields, k.Annotations, k.Spec.Suspend = drop(k.Finalizers, ours), nil, map[string]string{}, false
	case Freeze:
		frozen(false)(&w.Seen)
		source(a.Token, "")(&w.Seen)
	case Thaw:
		w.Frozen.ManagedFields, w.Frozen.Spec.Suspend = nil, false
	case Fetch:
		source(a.Token, a.Token)(&Seen{GitRepository: g})
	}
}

// controllers lets both controllers handle what is new to them; false when nothing is.
func (w *world) controllers() bool {
	moved := false
	if g := w.GitRepository; g != nil && g.Annotations[meta.ReconcileRequestAnnotation] != g.Status.LastHandledReconcileAt {
		g.Status.LastHandledReconcileAt, moved = g.Annotations[meta.ReconcileRequestAnnotation], true
	}
	k := w.Kustomization
	if k == nil {
		return moved
	}
	for _, o := range w.Others {
		if ownership.Holder(k) == o.HeldBy() && !o.adopted() && o.mayInherit() {
			o.Trigger.Finalizers, moved = []string{ours}, true // who is named adopts
		}
	}
	token := requested(k)
	if !k.DeletionTimestamp.IsZero() {
		k.Finalizers = drop(k.Finalizers, fluxs)
		if len(k.Finalizers) == 0 {
			w.Kustomization = nil
			return true
		}
	} else if !k.Spec.Suspend && token != "" && token != k.Status.LastHandledReconcileAt {
		ready("True", meta.ReconciliationSucceededReason)(&w.Seen)
		k.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.Now.Add(time.Duration(len(w.FreshToken)) * time.Second))
		historyTop("d1", meta.ReconciliationSucceededReason, int64(100+len(w.FreshToken)))(&w.Seen)
		k.Status.LastAppliedRevision = artifactRevision(w.GitRepository)
	}
	if token != "" && token != k.Status.LastHandledReconcileAt {
		k.Status.LastHandledReconcileAt, moved = token, true
	}
	return moved
}

func drop(from []string, what string) []string {
	var left []string
	for _, f := range from {
		if f != what {
			left = append(left, f)
		}
	}
	return left
}
