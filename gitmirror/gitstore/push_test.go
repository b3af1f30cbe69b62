package gitstore_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
)

func TestTwoFirstPushesDoNotOverwriteOneAnother(t *testing.T) {
	s := gitstoretest.New(t)
	r := open(t, s)
	first := commit(t, r, "", map[string]string{"a": "ours"})
	theirs := s.Push("main", "bob", "first", map[string]string{"a": "theirs"})
	var moved *gitstore.MovedError
	if err := r.Push(t.Context(), "main", "", []gitstore.Commit{first}); !errors.As(err, &moved) || moved.Tip != theirs {
		t.Errorf("push = %v, want moved to %s", err, theirs)
	}
}

// B43: the old hash travels in the push; without it each of bob's commits is overwritten.
func TestAPushNeverOverwritesWhatASecondWriterPushedMeanwhile(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"start": "1"})
	r := open(t, s)
	const rounds = 20
	for round := range rounds {
		base := fetch(t, r)
		ours := commit(t, r, base, map[string]string{fmt.Sprintf("alice/%d", round): "x"})
		bob := func() {
			s.Push("main", "bob", fmt.Sprintf("bob %d", round), map[string]string{fmt.Sprintf("bob/%d", round): "x"})
		}
		if round%2 == 0 {
			bob() // before the server tells us its refs
		} else {
			s.BeforePush(bob) // after that
		}
		var moved *gitstore.MovedError
		if err := r.Push(t.Context(), "main", base, []gitstore.Commit{ours}); !errors.As(err, &moved) {
			t.Fatalf("round %d: push = %v, want moved", round, err)
		}
		s.BeforePush(nil)
		base = fetch(t, r)
		push(t, r, base, commit(t, r, base, map[string]string{fmt.Sprintf("alice/%d", round): "x"}))
	}
	s.Fsck()
	if got := s.Git("rev-list", "--count", "main"); got != fmt.Sprint(1+2*rounds) {
		t.Errorf("%s commits, want %d", got, 1+2*rounds)
	}
	if got := len(strings.Fields(s.Git("ls-tree", "-r", "--name-only", "main"))); got != 1+2*rounds {
		t.Errorf("%d files, want %d", got, 1+2*rounds)
	}
}

// B44
func TestARejectedPushIsReportedInTheServersWords(t *testing.T) {
	s := gitstoretest.New(t)
	base := s.Push("main", "bob", "start", map[string]string{"a": "1"})
	s.Hook(`echo "main is protected; password ` + gitstoretest.Password + `" >&2; exit 1`)
	r := open(t, s)
	ours := commit(t, r, fetch(t, r), map[string]string{"a": "2"})
	err := r.Push(t.Context(), "main", base, []gitstore.Commit{ours})
	var rejected *gitstore.RejectedError
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Text, "main is protected") || !strings.Contains(rejected.Text, "declined") {
		t.Errorf("push = %v", err)
	}
	if strings.Contains(err.Error(), gitstoretest.Password) {
		t.Errorf("the error repeats the password: %v", err)
	}
	s.Hook("")
	push(t, r, base, ours)
}

// B44: a server that reports success and takes the push back.
func TestSuccessIsWhatTheRemoteBranchSaysAfterwards(t *testing.T) {
	s := gitstoretest.New(t)
	base := s.Push("main", "bob", "start", map[string]string{"a": "1"})
	r := open(t, s)
	ours := commit(t, r, fetch(t, r), map[string]string{"a": "2"})
	s.Intercept(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		serve.ServeHTTP(w, req)
		if gitstoretest.IsPush(req) {
			s.Git("update-ref", "refs/heads/main", base)
		}
	})
	var rejected *gitstore.RejectedError
	if err := r.Push(t.Context(), "main", base, []gitstore.Commit{ours}); !errors.As(err, &rejected) {
		t.Errorf("push = %v, want rejected", err)
	}
}

func TestAPushWhoseAnswerIsLostStillSucceedsWhenItArrived(t *testing.T) {
	s := gitstoretest.New(t)
	base := s.Push("main", "bob", "start", map[string]string{"a": "1"})
	r := open(t, s)
	ours := commit(t, r, fetch(t, r), map[string]string{"a": "2"})
	s.Intercept(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if gitstoretest.IsPush(req) {
			gitstoretest.LoseAnswer(w, req, serve)
			return
		}
		serve.ServeHTTP(w, req)
	})
	push(t, r, base, ours)
	if got := s.Tip("main"); got != ours.Hash {
		t.Errorf("tip %s, want %s", got, ours.Hash)
	}
}
