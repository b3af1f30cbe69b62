package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
)

func TestAChangeBecomesACommitByWhoeverMadeIt(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.until("the commit", func(st State) bool { return st.Pushed != "" && !st.Busy })
	if got := s.server.Git("show", "main:apps/web.yaml"); s.authors() != "bob alice" || !strings.Contains(got, `value: "2" # keep`) {
		t.Errorf("by %s:\n%s", s.authors(), got)
	}
}

func TestWhatWaitsForItsAuthorIsInHand(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.facts.say("other", "1", "bob") // from now on a change waits for its fact
	s.put("web", "2", "2")
	st := s.until("the change to be seen", func(st State) bool { return st.Busy })
	if st.Pending || st.Pushed != "" {
		t.Errorf("state %+v", st)
	}
	s.facts.say("web", "2", "alice")
	s.until("the commit", func(st State) bool { return st.Pushed != "" && !st.Busy })
	if s.authors() != "bob alice" {
		t.Errorf("by %s", s.authors())
	}
}

func TestAStopLetsWhatTheStreamsBroughtGetItsNameAndReachGit(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.facts.say("other", "1", "bob")
	s.put("web", "2", "2")
	s.until("the change to be seen", func(st State) bool { return st.Busy })
	s.stop()
	s.eventually("the stop", func() bool { return errors.Is(s.mirror.Set(s.target()), errStopping) })
	s.facts.say("web", "2", "alice") // later than the signal, and soon enough
	s.ends()
	if s.authors() != "bob alice" {
		t.Errorf("by %s", s.authors())
	}
}

func TestAStopDoesNotWaitForWhoeverIsTold(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := begin(t, func(o *Options) {
		o.Changed = func(ctx context.Context, _ types.NamespacedName) {
			select {
			case asked <- struct{}{}:
			default:
			}
			<-ctx.Done()
		}
	})
	s.put("web", "1", "1")
	s.set(s.target())
	<-asked
	s.watched()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.eventually("the commit, although nobody listens", func() bool { return s.authors() == "bob alice" })
	s.ends()
}

func TestARemovedTargetsEditsArriveWhenTheServerIsBack(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.outage()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.until("the outage", func(st State) bool { return st.PushErr != "" })
	s.mirror.Remove(apps)
	if _, ok := s.mirror.State(apps); ok {
		t.Error("a removed target has a state")
	}
	s.server.Intercept(nil)
	s.eventually("the commit", func() bool { return s.authors() == "bob alice" })
	s.eventually("the branch to be left alone", func() bool {
		s.mirror.mu.Lock()
		defer s.mirror.mu.Unlock()
		return len(s.mirror.branches) == 0
	})
}

func TestATargetSetAgainAtOnceGoesOnWhereItsBranchIs(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.outage()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.until("the outage", func(st State) bool { return st.PushErr != "" })
	s.mirror.Remove(apps)
	s.set(s.target())
	if st, _ := s.mirror.State(apps); !st.Busy {
		t.Error("what waits to be pushed is forgotten, so an apply could overwrite it")
	}
	s.until("the streams to run", func(st State) bool { return !st.Blind })
	s.facts.say("web", "3", "carol")
	s.put("web", "3", "3")
	s.server.Intercept(nil)
	s.until("both commits", func(st State) bool { return !st.Busy && s.authors() == "bob alice carol" })
	if st, _ := s.mirror.State(apps); st.ForeignMoves != 0 {
		t.Errorf("%d moves by others, none of which there was", st.ForeignMoves)
	}
}

func TestACorrectedAddressGetsWhatWaited(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	wrong := s.target()
	wrong.URL = strings.Replace(wrong.URL, "repo.git", "rebo.git", 1)
	s.set(wrong)
	s.until("the streams to run", func(st State) bool { return !st.Blind })
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.until("the fault", func(st State) bool { return st.PushErr != "" })
	right := s.target()
	right.Committer = author.Of("mirror@example.org")
	s.set(right)
	s.until("the commit", func(st State) bool { return st.Pushed != "" && !st.Busy })
	if got := s.server.Git("log", "-1", "--format=%an %ce", "main"); got != "alice mirror@example.org" {
		t.Errorf("the commit is by %s", got)
	}
}

func TestAResourceThatLeavesAndComesBackWritesNothing(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	unapplied := s.server.Push("main", "bob", "not applied yet", map[string]string{"apps/web.yaml": manifestOf("web", "pushed")})
	none := s.target()
	none.Resources = nil
	s.set(none)
	s.set(s.target())
	s.watched()
	s.facts.say("new", "1", "alice") // after this commit the others would have come
	s.put("new", "1", "1")
	s.until("the next commit", func(st State) bool { return st.Pushed != "" && !st.Busy })
	if got := s.server.Git("diff", "--name-only", unapplied, "main"); s.authors() != "bob bob alice" || got != "apps/shop/core/configmaps/new.yaml" {
		t.Errorf("by %s: %s", s.authors(), got)
	}
}

func TestATargetIsBlindWhileAResourceIsNotShown(t *testing.T) {
	s := begin(t)
	allow := s.forbid()
	s.set(s.target())
	st := s.until("the refusal", func(st State) bool { return len(st.Streams) == 1 && st.Streams[0].Denied })
	if !st.Blind {
		t.Errorf("state %+v", st)
	}
	allow()
	s.watched()
}

func TestAMissingBranchIsSaidBeforeAnythingWaits(t *testing.T) {
	s := begin(t)
	target := s.target()
	target.Branch = "release"
	s.set(target)
	st := s.until("the fault", func(st State) bool { return st.PushErr != "" })
	if st.Pending || !strings.Contains(st.PushErr, "create it") {
		t.Errorf("state %+v", st)
	}
	s.server.Git("branch", "release", "main")
	s.until("the branch", func(st State) bool { return st.PushErr == "" && st.Tip != "" })
}

func TestEveryRefusedEditIsToldOnce(t *testing.T) {
	s := begin(t)
	const n = 60
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("cm-%d", i)
		files["apps/"+name+".yaml"] = manifestOf(name, "1")
		s.put(name, "1", "1")
	}
	s.server.Push("main", "bob", "many", files)
	s.set(s.target())
	s.watched()
	for i := range n {
		s.delete(fmt.Sprintf("cm-%d", i))
	}
	s.eventually("every refusal", func() bool { return len(s.refusals()) == n })
	s.ends()
	told := map[string]bool{}
	for _, message := range s.refusals() {
		told[message] = true
	}
	if len(told) != n || s.counted(s.mirror.opts.Metrics.refused) != n {
		t.Errorf("told %d different refusals of %d", len(told), n)
	}
}

func TestPushesAreCountedByWhatBecameOfThem(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.server.Hook("exit 1")
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	m := s.mirror.opts.Metrics
	count := func(outcome string) float64 { return s.counted(m.pushes.WithLabelValues(outcome)) }
	s.eventually("a rejected push", func() bool { return count(outcomeRejected) == 1 })
	s.server.Hook("")
	s.eventually("the push", func() bool { return count(outcomePushed) == 1 })
	if s.counted(m.commits) != 1 || s.counted(m.changes.WithLabelValues(outcomeEdit)) != 1 {
		t.Error("the commit or its edit is not counted")
	}
}

func TestTwoTargetsOfOneFolderWriteAnEditOnce(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	second := s.target()
	second.Name = types.NamespacedName{Namespace: "shop", Name: "again"}
	s.set(s.target())
	s.set(second)
	s.watched()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.facts.say("new", "1", "carol")
	s.put("new", "1", "1")
	s.until("both commits", func(st State) bool { return !st.Busy && s.authors() == "bob alice carol" })
	s.ends()
	if s.authors() != "bob alice carol" || len(s.refusals()) > 0 {
		t.Errorf("by %s; refused %v", s.authors(), s.refusals())
	}
}

func TestABranchWithoutATargetIsGivenUpInTheEnd(t *testing.T) {
	s := begin(t)
	s.put("web", "1", "1")
	s.set(s.target())
	s.watched()
	s.outage()
	s.facts.say("web", "2", "alice")
	s.put("web", "2", "2")
	s.until("the outage", func(st State) bool { return st.PushErr != "" })
	s.mirror.Remove(apps)
	s.mirror.reap(time.Now().Add(patience / 2))
	if len(s.mirror.branches) != 1 {
		t.Error("given up too soon")
	}
	s.mirror.reap(time.Now().Add(patience + time.Minute))
	if len(s.mirror.branches) != 0 {
		t.Error("never given up")
	}
	s.server.Intercept(nil)
}
