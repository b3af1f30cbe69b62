package gitstore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
)

func TestWalkFindsACommitUnderSomebodyElsesPush(t *testing.T) {
	s := gitstoretest.New(t)
	base := s.Push("main", "bob", "start", map[string]string{"a": "1"})
	r := open(t, s)
	ours := commit(t, r, fetch(t, r), map[string]string{"a": "2"})
	push(t, r, base, ours)
	s.Push("main", "bob", "on top", map[string]string{"b": "1"})
	tip := fetch(t, r)
	for _, row := range []struct {
		says, stop string
		most       int
		want       string
	}{
		{"to the beginning", "", 9, "on top, update something, start"},
		{"not to the stop", base, 9, "on top, update something"},
		{"no further than it is asked", "", 2, "on top, update something"},
		{"nothing above the tip", tip, 9, ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			var seen []string
			err := r.Walk(tip, row.stop, func(_, message string) bool {
				seen = append(seen, strings.TrimSpace(message))
				return len(seen) < row.most
			})
			if got := strings.Join(seen, ", "); err != nil || got != row.want {
				t.Errorf("saw %q, %v, want %q", got, err, row.want)
			}
		})
	}
}

func TestAFetchFollowsABranchThatWasRewritten(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"a": "1"})
	r := open(t, s)
	old := fetch(t, r)
	s.Git("update-ref", "-d", "refs/heads/main")
	s.Git("reflog", "expire", "--expire=now", "--all")
	s.Git("gc", "--quiet", "--prune=now")
	rewritten := s.Push("main", "bob", "another start", map[string]string{"b": "1"})
	if got := fetch(t, r); got != rewritten {
		t.Fatalf("fetched %s, want %s", got, rewritten)
	}
	var moved *gitstore.MovedError
	if err := r.Push(t.Context(), "main", old, []gitstore.Commit{commit(t, r, old, map[string]string{"a": "2"})}); !errors.As(err, &moved) {
		t.Errorf("a push on the old history = %v, want moved", err)
	}
	push(t, r, rewritten, commit(t, r, rewritten, map[string]string{"b": "2"}))
	s.Fsck()
}

func TestErrorsTellWhatIsWrongAndNeverTheCredentials(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"a": "1"})
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	notGit := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>log in</html>") }))
	defer notGit.Close()
	fixed := func(c gitstore.Credentials) func(context.Context) (gitstore.Credentials, error) {
		return func(context.Context) (gitstore.Credentials, error) { return c, nil }
	}
	const secret = "wrong-s3cret"
	for _, row := range []struct {
		says, url string
		creds     gitstore.Credentials
		want      error
	}{
		{"a wrong password", s.URL, gitstore.Credentials{Username: "holdfast", Password: secret}, gitstore.ErrAuthentication},
		{"a wrong token", s.URL, gitstore.Credentials{BearerToken: secret}, gitstore.ErrAuthentication},
		{"no credentials", s.URL, gitstore.Credentials{}, gitstore.ErrAuthentication},
		{"a right token", s.URL, gitstore.Credentials{BearerToken: gitstoretest.Token}, nil},
		{"a missing repository", strings.Replace(s.URL, "repo.git", "gone.git", 1), gitstore.Credentials{BearerToken: gitstoretest.Token}, gitstore.ErrRepositoryNotFound},
		{"a dead server", closed.URL + "/repo.git", gitstore.Credentials{Password: secret}, gitstore.ErrUnreachable},
		{"a web page", notGit.URL + "/repo.git", gitstore.Credentials{Password: secret}, gitstore.ErrUnreachable},
	} {
		t.Run(row.says, func(t *testing.T) {
			r := openWith(t, row.url, gitstore.Options{Credentials: fixed(row.creds)})
			err := r.Probe(t.Context())
			if !errors.Is(err, row.want) {
				t.Errorf("Probe() = %v, want %v", err, row.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

func TestARotatedPasswordIsUsedAtOnce(t *testing.T) {
	s := gitstoretest.New(t)
	current := gitstoretest.Password
	r := openWith(t, s.URL, gitstore.Options{Credentials: func(context.Context) (gitstore.Credentials, error) {
		return gitstore.Credentials{Username: gitstoretest.Username, Password: current}, nil
	}})
	if err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.SetPassword("rotated")
	if err := r.Probe(t.Context()); !errors.Is(err, gitstore.ErrAuthentication) {
		t.Errorf("the old password: %v", err)
	}
	current = "rotated"
	if err := r.Probe(t.Context()); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

func TestARedirectToAnotherHostIsNotFollowed(t *testing.T) {
	reached := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { reached <- req.Header.Get("Authorization") }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL+req.URL.RequestURI(), http.StatusFound)
	}))
	defer first.Close()
	r := openWith(t, first.URL+"/repo.git", gitstore.Options{Credentials: password})
	if err := r.Probe(t.Context()); !errors.Is(err, gitstore.ErrUnreachable) || !strings.Contains(err.Error(), "redirects to another host") {
		t.Errorf("Probe() = %v", err)
	}
	if len(reached) != 0 {
		t.Errorf("the other host was asked, with Authorization %q", <-reached)
	}
}

func TestAServerThatHangsIsLeftAfterTheTimeout(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-req.Context().Done():
		}
	}))
	defer hung.Close()
	defer close(release)
	r := openWith(t, hung.URL+"/repo.git", gitstore.Options{Timeout: 50 * time.Millisecond})
	err := r.Probe(t.Context())
	if !errors.Is(err, gitstore.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Probe() = %v", err)
	}
}

func TestAFetchThatBreaksLeavesTheStoreUsable(t *testing.T) {
	s := gitstoretest.New(t)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("f/%d", i)] = strings.Repeat(fmt.Sprint(i), 50)
	}
	s.Push("main", "bob", "start", files)
	data := t.TempDir()
	r, err := gitstore.Open(data, s.URL, gitstore.Options{Credentials: password})
	if err != nil {
		t.Fatal(err)
	}
	s.Intercept(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
		if !strings.HasSuffix(req.URL.Path, "/git-upload-pack") {
			serve.ServeHTTP(w, req)
			return
		}
		full := httptest.NewRecorder()
		serve.ServeHTTP(full, req)
		w.Header().Set("Content-Type", full.Header().Get("Content-Type"))
		w.Header().Set("Content-Length", fmt.Sprint(full.Body.Len()))
		_, _ = w.Write(full.Body.Bytes()[:full.Body.Len()/2])
	})
	if _, err := r.Fetch(t.Context(), "main"); !errors.Is(err, gitstore.ErrUnreachable) {
		t.Fatalf("Fetch() = %v", err)
	}
	s.Intercept(nil)
	if left, _ := filepath.Glob(filepath.Join(data, "*", "fetching-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	tree, err := r.Tree(fetch(t, r), ".")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Files(); err != nil || len(got) != 300 {
		t.Errorf("%d files, %v", len(got), err)
	}
}

func TestASecondProcessGoesOnWithTheStoreOfTheFirst(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"a": "1"})
	data := t.TempDir()
	for round := range 2 {
		r, err := gitstore.Open(data, s.URL, gitstore.Options{Credentials: password})
		if err != nil {
			t.Fatal(err)
		}
		base := fetch(t, r)
		push(t, r, base, commit(t, r, base, map[string]string{"a": fmt.Sprint("round ", round)}))
	}
	s.Fsck()
}

func TestTheURLCarriesNoCredentials(t *testing.T) {
	for _, raw := range []string{"https://user:secret@host/repo", "ssh://host/repo", "/tmp/repo", "https:///repo", "https://host/repo?token=secret", "https://host/\x7f"} {
		if _, err := gitstore.Open(t.TempDir(), raw, gitstore.Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v", raw, err)
		}
	}
}
