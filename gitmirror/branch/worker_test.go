package branch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

func TestAnEditBecomesACommitByItsAuthor(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.edit("apps", "alice@example.org", "web", "2")
	s := w.settled()
	w.server.Fsck()
	got := w.server.Git("log", "-1", "--format=%an|%ae|%aI|%cn|%B", "main")
	want := "alice@example.org|alice@example.org|2026-03-04T05:06:07+00:00|Holdfast|update ConfigMap team-a/web\n\nHoldfast-Write: test-1\n"
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("commit is\n%s\nwant\n%s", got, want)
	}
	if got := w.server.Git("diff", "--numstat", "main~1", "main"); got != "1\t1\tapps/web.yaml" {
		t.Errorf("changed %q", got)
	}
	if s.Tip != w.server.Tip("main") || !s.TipOurs || s.Targets[name("apps")].Pushed != s.Tip {
		t.Errorf("snapshot %+v", s)
	}
}

func TestEditsOfOneCommitWindowAreOneCommit(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), branch.TargetSettings{Folder: "apps", Committer: holdfast, Idle: 5 * time.Second, Max: time.Minute})
	w.edit("apps", "alice", "web", "2")
	w.edit("apps", "alice", "db", "1")
	w.edit("apps", "alice", "web", "3")
	w.until("the window to open", func(s branch.Snapshot) bool { return s.Busy && s.TipKnown })
	w.retried("the window to close", func(s branch.Snapshot) bool { return !s.Busy })
	if got := w.server.Git("rev-list", "--count", "main"); got != "2" {
		t.Errorf("%s commits, want 2", got)
	}
	if got := w.server.Git("show", "main:apps/web.yaml"); !strings.Contains(got, `value: "3" # keep`) {
		t.Errorf("web is\n%s", got)
	}
}

// B43
func TestASecondWriterBeforeEveryPushLosesAndDoublesNothing(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "start")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled() // the tip is known, so that bob's first push is a move
	const rounds = 20
	var want []string
	for round := range rounds {
		value, by := fmt.Sprint("round ", round), []string{"alice", "carol"}[round%2]
		bob := func() {
			w.server.BeforePush(nil)
			w.server.Push("main", "bob", fmt.Sprint("bob ", round), map[string]string{fmt.Sprintf("bob/%d", round): "x"})
		}
		if round%2 == 0 {
			bob()
		} else {
			w.server.BeforePush(bob)
		}
		w.edit("apps", by, "web", value)
		w.settled()
		want = append(want, "bob", by)
		if got := w.server.Git("show", "main:apps/web.yaml"); !strings.Contains(got, `"`+value+`"`) {
			t.Fatalf("round %d: web is\n%s", round, got)
		}
	}
	w.server.Fsck()
	got := strings.Fields(w.server.Git("log", "--reverse", "--format=%an", "main~"+fmt.Sprint(2*rounds)+"..main"))
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("authors %v, want %v", got, want)
	}
	if got := w.server.Git("rev-list", "--count", "main"); got != fmt.Sprint(1+2*rounds) {
		t.Errorf("%s commits, want %d", got, 1+2*rounds)
	}
	if got := w.worker.Snapshot().ForeignMoves; got != rounds {
		t.Errorf("%d foreign moves, want %d", got, rounds)
	}
}

// B44
func TestARejectedPushIsReportedAndKept(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	base := w.server.Tip("main")
	w.worker.SetTarget(name("apps"), atOnce)
	w.server.Hook(`echo "main is protected" >&2; exit 1`)
	w.edit("apps", "alice", "web", "2")
	s := w.until("the rejection", func(s branch.Snapshot) bool { return s.Err != nil })
	var rejected *gitstore.RejectedError
	if !errors.As(s.Err, &rejected) || !strings.Contains(rejected.Text, "main is protected") {
		t.Errorf("error %v", s.Err)
	}
	if !s.Busy || s.Tip != base || s.Targets[name("apps")].Pushed != "" || s.Targets[name("apps")].Pending != 1 {
		t.Errorf("snapshot %+v", s)
	}
	before := w.server.Requests.Load()
	w.edit("apps", "bob", "web", "3") // while backing off
	w.until("the second edit", func(s branch.Snapshot) bool { return s.Targets[name("apps")].Pending == 2 })
	if got := w.server.Requests.Load(); got != before {
		t.Errorf("%d requests while backing off", got-before)
	}
	w.server.Hook("")
	w.retried("both to be pushed", func(s branch.Snapshot) bool { return !s.Busy && s.Err == nil })
	if got := w.server.Git("log", "--format=%an", "-2", "main"); got != "bob\nalice" {
		t.Errorf("authors %q", got)
	}
}

func TestAnOutageLosesNothing(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	w.server.Intercept(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { gitstoretest.Hangup(rw) })
	for i, by := range []string{"alice", "bob", "carol"} {
		w.edit("apps", by, "web", fmt.Sprint("during ", i))
	}
	s := w.until("the outage", func(s branch.Snapshot) bool { return s.Err != nil })
	if !errors.Is(s.Err, gitstore.ErrUnreachable) || s.ErrSince.IsZero() {
		t.Errorf("error %v since %v", s.Err, s.ErrSince)
	}
	w.server.Intercept(nil)
	w.retried("everything to be pushed", func(s branch.Snapshot) bool { return !s.Busy && s.Err == nil })
	if got := w.server.Git("log", "--format=%an", "--reverse", "main"); got != "bob\nalice\nbob\ncarol" {
		t.Errorf("authors %q", got)
	}
}

func TestALostAnswerUnderSomebodyElsesPushMakesNoSecondCommit(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	var first bool // the push needs the refs once before it is sent
	w.server.Intercept(func(rw http.ResponseWriter, req *http.Request, serve http.Handler) {
		switch {
		case gitstoretest.IsPush(req):
			serve.ServeHTTP(httptest.NewRecorder(), req)
			w.server.Push("main", "bob", "on top", map[string]string{"bob": "x"})
			gitstoretest.Hangup(rw)
		case !first:
			first = true
			serve.ServeHTTP(rw, req)
		default:
			gitstoretest.Hangup(rw)
		}
	})
	w.edit("apps", "alice", "web", "2")
	w.until("the lost answer", func(s branch.Snapshot) bool { return s.Err != nil })
	w.server.Intercept(nil)
	s := w.retried("the commit to be found", func(s branch.Snapshot) bool { return !s.Busy && s.Err == nil })
	if got := w.server.Git("log", "--format=%an", "main"); got != "bob\nalice\nbob" {
		t.Errorf("authors %q", got)
	}
	if s.TipOurs || s.Targets[name("apps")].Pushed != w.server.Git("rev-parse", "main~1") {
		t.Errorf("snapshot %+v", s)
	}
}

func TestAPushTheServerActsOnLateMakesNoSecondCommit(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	var late *http.Request
	w.server.Intercept(func(rw http.ResponseWriter, req *http.Request, serve http.Handler) {
		switch {
		case !gitstoretest.IsPush(req):
		case late == nil:
			body, err := io.ReadAll(req.Body)
			if err != nil {
				t.Error(err)
			}
			late = req.Clone(context.WithoutCancel(req.Context()))
			late.Body = io.NopCloser(bytes.NewReader(body))
			gitstoretest.Hangup(rw)
			return
		default:
			serve.ServeHTTP(httptest.NewRecorder(), late)
		}
		serve.ServeHTTP(rw, req)
	})
	w.edit("apps", "alice", "web", "2")
	w.until("the lost push", func(s branch.Snapshot) bool { return s.Err != nil })
	s := w.retried("the commit to be found", func(s branch.Snapshot) bool { return !s.Busy && s.Err == nil })
	if got := w.server.Git("log", "--format=%an", "main"); got != "alice\nbob" {
		t.Errorf("authors %q", got)
	}
	if !s.TipOurs || s.ForeignMoves != 0 || s.Targets[name("apps")].Pushed != w.server.Tip("main") {
		t.Errorf("snapshot %+v", s)
	}
}

// B46
func TestTheFirstCommitMakesTheBranchOfAnEmptyRepository(t *testing.T) {
	w := start(t, nil)
	w.worker.SetTarget(name("apps"), atOnce)
	w.edit("apps", "alice", "web", "1")
	w.settled()
	w.server.Fsck()
	if got := w.server.Git("log", "--format=%an", "main"); got != "alice" {
		t.Errorf("authors %q", got)
	}
}

func TestAKustomizeFolderDoesNotStopTheOtherTargets(t *testing.T) {
	w := start(t, map[string]string{"built/kustomization.yaml": "resources: []\n", "apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("built"), branch.TargetSettings{Folder: "built", Committer: holdfast})
	w.worker.SetTarget(name("apps"), atOnce)
	w.edit("built", "alice", "web", "2")
	w.edit("apps", "bob", "web", "2")
	s := w.until("bob's commit", func(s branch.Snapshot) bool { return s.Targets[name("apps")].Pushed != "" })
	built := s.Targets[name("built")]
	if !errors.Is(built.Err, manifest.ErrKustomizeFolder) || built.Pending != 1 || !s.Busy || s.Err != nil {
		t.Errorf("snapshot %+v", s)
	}
	// It heals when the folder does.
	w.server.Push("main", "carol", "plain manifests", map[string]string{"-built/kustomization.yaml": ""})
	w.retried("alice's commit", func(s branch.Snapshot) bool { return !s.Busy })
}

func TestARefusedEditIsReportedAndTheRestGoesOn(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), branch.TargetSettings{Folder: "apps", Committer: holdfast, Idle: time.Second, Max: time.Minute})
	gone := configMap("apps", "alice", "gone", "1")
	gone.Intent.Create = false
	if err := w.worker.Submit(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	w.edit("apps", "alice", "web", "2")
	w.until("the window to open", func(s branch.Snapshot) bool { return s.Busy })
	s := w.retried("the commit", func(s branch.Snapshot) bool { return !s.Busy && s.TipOurs })
	refused := s.Targets[name("apps")].Refused
	if len(refused) != 1 || refused[0].Object.Name != "gone" || refused[0].Author.Name != "alice" || refused[0].Sequence != 1 {
		t.Errorf("refused %+v", refused)
	}
}

func TestSubmitWaitsWhileTooMuchIsKept(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")}, func(o *branch.Options) { o.MaxBytes = 1000 })
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	w.server.Intercept(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { gitstoretest.Hangup(rw) })
	w.edit("apps", "alice", "web", strings.Repeat("large", 1000)) // alone it is taken whatever it weighs
	w.until("the outage", func(s branch.Snapshot) bool { return s.Err != nil })
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := w.worker.Submit(short, configMap("apps", "bob", "web", "2")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Submit() = %v, want to wait", err)
	}
	taken := make(chan error, 1)
	go func() { taken <- w.worker.Submit(t.Context(), configMap("apps", "bob", "web", "3")) }()
	w.server.Intercept(nil)
	w.retried("alice's edit to be pushed", func(s branch.Snapshot) bool { return s.TipOurs })
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	w.until("bob's commit", func(branch.Snapshot) bool { return w.server.Git("log", "-1", "--format=%an", "main") == "bob" })
}

func TestStoppingPushesWhatACommitWindowHolds(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), branch.TargetSettings{Folder: "apps", Committer: holdfast, Idle: time.Hour, Max: time.Hour})
	w.edit("apps", "alice", "web", "2")
	w.stop()
	if err := <-w.ended; err != nil {
		t.Fatal(err)
	}
	if got := w.server.Git("log", "-1", "--format=%an", "main"); got != "alice" {
		t.Errorf("author %q", got)
	}
	if err := w.worker.Submit(t.Context(), configMap("apps", "bob", "web", "3")); !errors.Is(err, branch.ErrStopped) {
		t.Errorf("Submit() = %v", err)
	}
}

func TestStoppingDuringAnOutageEndsAndSaysWhatIsLeft(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	w.server.Intercept(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { gitstoretest.Hangup(rw) })
	w.edit("apps", "alice", "web", "2")
	w.until("the outage", func(s branch.Snapshot) bool { return s.Err != nil })
	w.stop()
	if err := w.ends(); err == nil || !strings.Contains(err.Error(), "1 commits not pushed") {
		t.Errorf("Run() = %v", err)
	}
}

func TestWhatWaitsIsPushedToTheRepositorysNewAddressByItsNewCommitter(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	w.server.Intercept(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) { gitstoretest.Hangup(rw) })
	edit := configMap("apps", "alice", "web", "2")
	edit.Impersonator = "carol"
	if err := w.worker.Submit(t.Context(), edit); err != nil {
		t.Fatal(err)
	}
	w.until("the outage", func(s branch.Snapshot) bool { return s.Err != nil })

	other := gitstoretest.New(t)
	other.Push("main", "bob", "another history", map[string]string{"apps/all.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), branch.TargetSettings{Folder: "apps", Committer: author.Of("mirror@example.org")})
	w.worker.SetRepository(open(t, other))
	s := w.settled()
	got := other.Git("log", "-1", "--format=%an|%cn|%b", "main")
	if want := "alice|mirror@example.org|Impersonated-By: carol <carol@users.holdfast.invalid>\nHoldfast-Write: test-1"; strings.TrimSpace(got) != want {
		t.Errorf("commit is %s, want %s", got, want)
	}
	if s.Tip != other.Tip("main") || s.ForeignMoves != 0 || w.server.Git("rev-list", "--count", "main") != "1" {
		t.Errorf("snapshot %+v", s)
	}
}

func TestAsManyRefusalsAsOneCommandMayCauseAreKept(t *testing.T) {
	w := start(t, map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	w.worker.SetTarget(name("apps"), atOnce)
	const n = 1010
	for i := range n {
		gone := configMap("apps", "alice", fmt.Sprint("gone-", i), "1")
		gone.Intent.Create = false
		if err := w.worker.Submit(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	refused := w.settled().Targets[name("apps")].Refused
	if len(refused) != 1000 || refused[0].Sequence != n-999 || refused[999].Sequence != n {
		t.Errorf("%d refusals", len(refused))
	}
}

// B51
func TestALargeFileAndALinkStopNoOtherObject(t *testing.T) {
	w := start(t, map[string]string{
		"apps/web.yaml": manifestOf("web", "1"), "apps/dump.yaml": strings.Repeat("# large\n", gitstore.MaxFileBytes/8+1), "@apps/team-a": "/etc",
	})
	w.worker.SetTarget(name("apps"), atOnce)
	w.edit("apps", "alice", "new", "1")
	w.edit("apps", "bob", "web", "2")
	s := w.until("bob's commit", func(s branch.Snapshot) bool { return s.TipOurs && !s.Busy })
	if refused := s.Targets[name("apps")].Refused; len(refused) != 1 || refused[0].Object.Name != "new" || s.Targets[name("apps")].Err != nil {
		t.Errorf("snapshot %+v", s)
	}
}

func TestAnEditForAnUnknownTargetIsNotTaken(t *testing.T) {
	w := start(t, nil)
	if err := w.worker.Submit(t.Context(), configMap("apps", "alice", "web", "1")); !errors.Is(err, branch.ErrUnknownTarget) {
		t.Errorf("Submit() = %v", err)
	}
	w.worker.SetTarget(name("apps"), atOnce)
	w.edit("apps", "alice", "web", "1")
	w.worker.RemoveTarget(name("apps"))
	if err := w.worker.Submit(t.Context(), configMap("apps", "alice", "web", "2")); !errors.Is(err, branch.ErrUnknownTarget) {
		t.Errorf("Submit() = %v", err)
	}
	s := w.until("the target to be forgotten", func(s branch.Snapshot) bool { return s.TipOurs && len(s.Targets) == 0 })
	if s.Tip != w.server.Tip("main") {
		t.Errorf("snapshot %+v", s)
	}
}

// The same change to the same repository, by the worker and by git itself, in turns: both talk to the server over HTTP.
func BenchmarkEditToPushed(b *testing.B) {
	w := start(b, map[string]string{"apps/web.yaml": manifestOf("web", "0")})
	w.worker.SetTarget(name("apps"), atOnce)
	w.settled()
	clone := w.server.Clone()
	var ours, gits time.Duration
	n := 0
	for b.Loop() {
		n++
		begin := time.Now()
		tip := w.worker.Snapshot().Tip
		w.edit("apps", "alice", "web", fmt.Sprint(n))
		w.until("the push", func(s branch.Snapshot) bool { return s.Tip != tip && !s.Busy })
		ours += time.Since(begin)

		w.server.In(clone, "pull", "--quiet", "--ff-only")
		if err := os.WriteFile(filepath.Join(clone, "apps", "web.yaml"), []byte(manifestOf("web", fmt.Sprint("git ", n))), 0o644); err != nil {
			b.Fatal(err)
		}
		begin = time.Now()
		w.server.In(clone, "commit", "--quiet", "--all", "--message", "update web")
		w.server.In(clone, "push", "--quiet")
		gits += time.Since(begin)
		w.retried("the foreign commit to be seen", func(s branch.Snapshot) bool { return s.ForeignMoves == n })
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(n)/1000, "ours-ms/op")
	b.ReportMetric(float64(gits.Microseconds())/float64(n)/1000, "git-ms/op")
	b.ReportMetric(ours.Seconds()/gits.Seconds(), "ours/git")
}
