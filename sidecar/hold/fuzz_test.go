package hold

import (
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// pieces are what a fuzzed Seen is put together from, one bit of the input each, in this order.
var pieces = []edit{
	finalizer, suspended("rest"), held, handled("rest"), handled(t1), handled(t2), requestedAt(t1), requestedAt(t2), requestedAt(""),
	resumedBy("flux"), resumedWith(t1), heldBy(""), heldBy(other), otherLives,
	request("r1", c1), request("r2", c2), answered("r1"), finished("Failed"), finished("Succeeded"),
	operation("Requested"), operation("Running"), operation("Settling"),
	artifact(c2), artifact(""), source("holdfast-fetch-r1", "holdfast-fetch-r1"), source("holdfast-fetch-r2", ""),
	ran, ready("False", "BuildFailed"), historyTop("d9", "HealthCheckFailed", 1), applied(rev(c2)), progressing(8),
	verdict(v1alpha1.ReasonNotReferenced), verdict(v1alpha1.ReasonNotBound), verdict(v1alpha1.ReasonSourceMismatch),
	deleting, anotherUID, later(10 * time.Minute), flapped("flux"), forged(other), forged(us), request("r1", ""),
	func(s *Seen) { s.KubeProvider = nil },
	func(s *Seen) { s.GitRepository.Spec.Reference.Tag = "v1" },
	func(s *Seen) { s.Kustomization.DeletionTimestamp = &past },
	func(s *Seen) { s.GitRepository = nil },
	noKustomization,
}

// FuzzDecide holds what no input may break: the rules of the package comment as properties.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(0))
	for i := range pieces {
		f.Add(uint64(1) << i)
		f.Add(uint64(1)<<i | 1<<2)
	}
	f.Fuzz(func(t *testing.T, bits uint64) {
		s := seen()
		for i, p := range pieces {
			last := i >= len(pieces)-2 // these take away what others change
			if bits&(1<<i) != 0 && (last || s.Kustomization != nil && s.GitRepository != nil) {
				p(&s)
			}
		}
		was := s.Trigger.Status.DeepCopy()
		a := Decide(s)
		is := a.Status

		if a.Verb == Resume {
			if was.Operation == nil || was.Operation.Phase != v1alpha1.OperationRequested || a.Token != was.Operation.Token {
				t.Errorf("resumed without a record: %+v", was.Operation)
			}
			if !s.held() || s.leaving() || s.refusal() != nil {
				t.Error("resumed what is not held")
			}
			if !a.Guarded {
				t.Error("resumed unguarded")
			}
			if CommitOf(artifactRevision(s.GitRepository)) != was.Operation.Commit {
				t.Error("resumed while the artifact is another commit")
			}
		}
		if a.Verb == Suspend && a.Token != s.FreshToken {
			t.Errorf("suspended with the used token %q", a.Token)
		}
		if (a.Verb == Release || a.Verb == RemoveFinalizer) && s.inFlight() {
			t.Error("let go of an operation in flight")
		}
		if is == nil {
			return
		}
		if op := is.Operation; op != nil && op.Phase.Final() && was.Operation != nil && !was.Operation.Phase.Final() {
			switch {
			case was.Operation.Token == op.Token: // finished
				if is.LastHandledRequest == nil || is.LastHandledRequest.ID != op.RequestID || len(is.History) == 0 || is.History[0].Token != op.Token {
					t.Error("finished without answer or history")
				}
			case is.LastHandledRequest == nil || is.LastHandledRequest.ID != was.Operation.RequestID: // withdrawn
				t.Error("withdrew without an answer")
			}
		}
		if was.Operation != nil && !was.Operation.Phase.Final() && is.Operation == nil &&
			(is.LastHandledRequest == nil || is.LastHandledRequest.ID != was.Operation.RequestID) {
			t.Error("an operation vanished without an answer")
		}
		if was.Operation != nil && !was.Operation.Phase.Final() && (is.Operation == nil || is.Operation.Token != was.Operation.Token) && traces(was.Operation.Before, s.Kustomization) {
			t.Error("withdrew what ran")
		}
		ours := is.Operation != nil && is.Operation.Origin != v1alpha1.OriginExternal
		if ours && is.Operation.Commit == "" {
			t.Error("recorded an operation for no commit")
		}
		if ours && was.Operation == nil && a.Verb != Wait {
			t.Errorf("%s in the pass that records", a.Verb)
		}
		if is.Request != nil {
			t.Error("wrote gitmirror's field")
		}
		if len(is.History) > maxHistory {
			t.Error("history without bound")
		}
	})
}
