package gitserver

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var bob = Author{Name: "Bob", Email: "bob@example.org"}

// serve starts a server with one repository, app, for the users holdfast and bob.
func serve(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.TempDir(), "127.0.0.1:0", map[string]string{"holdfast": "secret-1", "bob": "secret-2"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Down(); err != nil {
			t.Error(err)
		}
	})
	if err := s.AddRepo(t.Context(), "app", map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// as is the URL of the repository with user's credentials, as a person might type it.
func as(s *Server, user, password, repo string) string {
	return strings.Replace(s.URL(repo), "http://", "http://"+user+":"+password+"@", 1)
}

// git runs a git client, with nothing of this machine's settings, and returns all it printed.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(gitEnv(t.TempDir()), "PATH="+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=Bob", "GIT_AUTHOR_EMAIL=bob@example.org", "GIT_COMMITTER_NAME=Robot", "GIT_COMMITTER_EMAIL=robot@example.org")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func mustGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := git(t, dir, args...); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// clone clones app as bob and commits content there, ready to be pushed.
func clone(t *testing.T, s *Server, content string) string {
	t.Helper()
	dir := t.TempDir()
	mustGit(t, dir, "clone", "--quiet", as(s, "bob", "secret-2", "app"), ".")
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "commit", "--quiet", "--all", "--message", "Change a\n\nWith a reason.")
	return dir
}

func TestWhoMayEnterAndWhatIsThere(t *testing.T) {
	s := serve(t)
	for _, row := range []struct {
		name, user, password, path string
		want                       int
	}{
		{"a known user reads a repository", "holdfast", "secret-1", "/app.git/info/refs?service=git-upload-pack", 200},
		{"a known user may push", "bob", "secret-2", "/app.git/info/refs?service=git-receive-pack", 200},
		{"nobody", "", "", "/app.git/info/refs?service=git-upload-pack", 401},
		{"a wrong password", "bob", "secret-1", "/app.git/info/refs?service=git-upload-pack", 401},
		{"an unknown user", "mallory", "secret-1", "/app.git/info/refs?service=git-upload-pack", 401},
		{"an unknown user without a password", "mallory", "", "/app.git/info/refs?service=git-upload-pack", 401},
		{"an unknown repository", "bob", "secret-2", "/other.git/info/refs?service=git-upload-pack", 404},
		{"an unknown repository, asked by nobody", "", "", "/other.git/info/refs?service=git-upload-pack", 401},
		{"no repository at all", "bob", "secret-2", "/", 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.addr+row.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if row.user != "" {
				req.SetBasicAuth(row.user, row.password)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != row.want {
				t.Errorf("got %s, want %d", resp.Status, row.want)
			}
			if asks := resp.Header.Get("WWW-Authenticate") != ""; asks != (row.want == 401) {
				t.Errorf("asks for a password: %v", asks)
			}
		})
	}
}

func TestAPushArrivesAsTheClientMadeIt(t *testing.T) {
	s := serve(t)
	dir := clone(t, s, "a: 2\n")
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD")
	log, err := s.Log(t.Context(), "app", Branch)
	if err != nil {
		t.Fatal(err)
	}
	want := Commit{Hash: log[0].Hash, AuthorName: "Bob", AuthorEmail: "bob@example.org", CommitterName: "Robot", CommitterEmail: "robot@example.org",
		Message: "Change a\n\nWith a reason.", Files: []string{"a.yaml"}}
	if len(log) != 2 || !reflect.DeepEqual(log[0], want) {
		t.Errorf("the log is %+v\nwant %+v on top of one more", log, want)
	}
	if got, err := s.ReadFile(t.Context(), "app", Branch, "a.yaml"); got != "a: 2\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// git sends a push above 1 MiB chunked, which CGI cannot take.
func TestALargePushArrives(t *testing.T) {
	s := serve(t)
	noise := make([]byte, 3<<20)
	_, _ = rand.Read(noise)
	dir := clone(t, s, string(noise))
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD")
	if got, err := s.ReadFile(t.Context(), "app", Branch, "a.yaml"); got != string(noise) || err != nil {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}

func TestAHookRefusesWithItsWordsUntilItIsRemoved(t *testing.T) {
	s := serve(t)
	dir := clone(t, s, "a: 2\n")
	before, _ := s.Head(t.Context(), "app", Branch)
	if err := s.SetHook("app", RefusePushes("the branch is frozen today")); err != nil {
		t.Fatal(err)
	}
	out, err := git(t, dir, "push", "origin", "HEAD")
	if err == nil || !strings.Contains(out, "the branch is frozen today") || !strings.Contains(out, "pre-receive hook declined") {
		t.Errorf("the push said %v:\n%s", err, out)
	}
	if after, err := s.Head(t.Context(), "app", Branch); after != before || err != nil {
		t.Errorf("the branch went from %s to %s, %v", before, after, err)
	}
	if err := s.SetHook("app", ""); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD")
}

func TestAnOutageRefusesConnectionsAndEndsOnTheSameAddress(t *testing.T) {
	s := serve(t)
	dir := clone(t, s, "a: 2\n")
	if err := s.Down(); err != nil {
		t.Fatal(err)
	}
	if out, err := git(t, dir, "push", "origin", "HEAD"); err == nil || !strings.Contains(out, "Failed to connect") && !strings.Contains(out, "Connection refused") {
		t.Errorf("the push said %v:\n%s", err, out)
	}
	if _, err := s.Commit(t.Context(), "app", Branch, bob, "Meanwhile", map[string]string{"c.yaml": "c: 1\n"}); err != nil {
		t.Errorf("somebody else's commit in an outage: %v", err)
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	mustGit(t, dir, "pull", "--quiet", "--rebase")
	mustGit(t, dir, "push", "--quiet", "origin", "HEAD")
}

func TestSomebodyElsesCommitAddsChangesAndRemoves(t *testing.T) {
	s := serve(t)
	hash, err := s.Commit(t.Context(), "app", Branch, bob, "Move b", map[string]string{"deep/er/b.yaml": "", "b é.yaml": "b: 2\n"})
	if err != nil {
		t.Fatal(err)
	}
	log, err := s.Log(t.Context(), "app", Branch)
	if err != nil {
		t.Fatal(err)
	}
	want := Commit{Hash: hash, AuthorName: "Bob", AuthorEmail: "bob@example.org", CommitterName: "Bob", CommitterEmail: "bob@example.org",
		Message: "Move b", Files: []string{"b é.yaml", "deep/er/b.yaml"}}
	if len(log) != 2 || !reflect.DeepEqual(log[0], want) {
		t.Errorf("the log is %+v\nwant %+v on top of one more", log, want)
	}
	if files, err := s.Files(t.Context(), "app", hash); !reflect.DeepEqual(files, []string{"a.yaml", "b é.yaml"}) || err != nil {
		t.Errorf("files %q, %v", files, err)
	}
	if _, err := s.ReadFile(t.Context(), "app", hash, "deep/er/b.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading what was removed: %v", err)
	}
	if got, err := s.ReadFile(t.Context(), "app", log[1].Hash, "deep/er/b.yaml"); got != "b: 1\n" || err != nil {
		t.Errorf("reading it before: %q, %v", got, err)
	}
}

func TestACommitMayBeginABranch(t *testing.T) {
	s := serve(t)
	if _, err := s.Head(t.Context(), "app", "live"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a branch that is not there: %v", err)
	}
	hash, err := s.Commit(t.Context(), "app", "live", bob, "Begin live", map[string]string{"x.yaml": "x: 1\n"})
	if err != nil {
		t.Fatal(err)
	}
	if head, err := s.Head(t.Context(), "app", "live"); head != hash || err != nil {
		t.Errorf("head %s, %v", head, err)
	}
}

func TestMethodsNameARepositoryThatIsNotThere(t *testing.T) {
	s := serve(t)
	_, logErr := s.Log(t.Context(), "other", Branch)
	_, readErr := s.ReadFile(t.Context(), "other", Branch, "a.yaml")
	_, commitErr := s.Commit(t.Context(), "other", Branch, bob, "x", nil)
	for _, err := range []error{logErr, readErr, commitErr, s.SetHook("other", "")} {
		if !errors.Is(err, errNoRepository) || !strings.Contains(err.Error(), "other") {
			t.Errorf("got %v", err)
		}
	}
	if err := s.AddRepo(t.Context(), "app", nil); err == nil {
		t.Error("added a repository over another")
	}
}

func TestAMissingGitIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.TempDir(), "127.0.0.1:0", nil); err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}
