// Package gitstoretest serves a real Git repository over HTTP to tests: git http-backend behind basic or bearer
// authentication, with a second writer, a switchable hook, and answers that get lost.
package gitstoretest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// What the server accepts. The password has characters that URLs and headers treat specially.
const (
	Username = "holdfast"
	Password = "p@ss/w:rd-1"
	Token    = "token-4711"
)

// Server is one repository, empty at first, whose HEAD names main.
type Server struct {
	// URL of the repository, without credentials.
	URL string
	// Dir is the bare repository.
	Dir string
	// Requests counts what reached the server, refused or not.
	Requests atomic.Int64

	t    testing.TB
	home string

	mu         sync.Mutex
	password   string
	beforePush func()
	intercept  func(w http.ResponseWriter, req *http.Request, serve http.Handler)
}

// New starts a server that ends with the test. Without git the test fails: an environment that is missing is a failure.
func New(t testing.TB) *Server {
	t.Helper()
	root := t.TempDir()
	s := &Server{t: t, Dir: filepath.Join(root, "repo.git"), home: root, password: Password}
	s.git("", "init", "--quiet", "--bare", "--initial-branch=main", s.Dir)
	s.Git("config", "http.receivepack", "true")
	s.Git("config", "receive.fsckObjects", "true")
	backend := filepath.Join(strings.TrimSpace(s.git("", "--exec-path")), "git-http-backend")
	handler := &cgi.Handler{
		Path: backend,
		Env:  append(s.env(), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+Username),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.serve(w, req, handler)
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL + "/repo.git"
	return s
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request, backend http.Handler) {
	s.Requests.Add(1)
	s.mu.Lock()
	password, before, intercept := s.password, s.beforePush, s.intercept
	s.mu.Unlock()
	user, given, _ := req.BasicAuth()
	if (user != Username || given != password) && req.Header.Get("Authorization") != "Bearer "+Token {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		// A careless server repeats what it was given.
		http.Error(w, "bad credentials "+given+" "+req.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	if before != nil && IsPush(req) {
		before()
	}
	if intercept != nil {
		intercept(w, req, backend)
		return
	}
	backend.ServeHTTP(w, req)
}

// IsPush says whether req carries a pack to the server.
func IsPush(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/git-receive-pack") }

// SetPassword rotates the password.
func (s *Server) SetPassword(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
}

// BeforePush calls f when a push has arrived and before the server acts on it. Nil ends that.
func (s *Server) BeforePush(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beforePush = f
}

// Intercept hands every authenticated request to f, with the handler that would serve it. Nil ends that.
func (s *Server) Intercept(f func(w http.ResponseWriter, req *http.Request, serve http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// LoseAnswer serves req in full and then breaks the connection instead of answering.
func LoseAnswer(w http.ResponseWriter, req *http.Request, serve http.Handler) {
	serve.ServeHTTP(httptest.NewRecorder(), req)
	Hangup(w)
}

// Hangup breaks the connection.
func Hangup(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err) // httptest speaks HTTP/1 here, which can be hijacked
	}
	_ = connection.Close()
}

// Hook installs a pre-receive hook, a shell script body; an empty one removes it.
func (s *Server) Hook(script string) {
	s.t.Helper()
	path := filepath.Join(s.Dir, "hooks", "pre-receive")
	if err := os.RemoveAll(path); err != nil {
		s.t.Fatal(err)
	}
	if script == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat >/dev/null\n"+script+"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// Git runs git in the bare repository and returns its output without the last line break.
func (s *Server) Git(args ...string) string {
	s.t.Helper()
	return strings.TrimSuffix(s.git("", append([]string{"-C", s.Dir}, args...)...), "\n")
}

// In runs git in a clone and returns its output without the last line break.
func (s *Server) In(clone string, args ...string) string {
	s.t.Helper()
	return strings.TrimSuffix(s.git("", append([]string{"-C", clone}, args...)...), "\n")
}

// Tip returns the branch's hash, empty when there is none.
func (s *Server) Tip(branch string) string {
	s.t.Helper()
	return s.Git("for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
}

// Push is the second writer: it puts a commit by author with these files on the branch, straight into the repository. It
// returns the new tip. A file named with a leading "@" is a symlink to its content, one with "!" is executable, one with
// "-" is removed.
func (s *Server) Push(branch, author, message string, files map[string]string) string {
	s.t.Helper()
	var in strings.Builder
	from := ""
	if tip := s.Tip(branch); tip != "" {
		from = "from " + tip + "\n"
	}
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter %s <%s@example.org> 1700000000 +0000\n%s%s",
		branch, author, author, data(message), from)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		mode, path := "100644", name
		switch name[0] {
		case '@':
			mode, path = "120000", name[1:]
		case '!':
			mode, path = "100755", name[1:]
		case '-':
			fmt.Fprintf(&in, "D %s\n", name[1:])
			continue
		}
		fmt.Fprintf(&in, "M %s inline %s\n%s", mode, path, data(files[name]))
	}
	s.git(in.String(), "-C", s.Dir, "fast-import", "--quiet", "--force")
	return s.Tip(branch)
}

func data(s string) string { return fmt.Sprintf("data %d\n%s\n", len(s), s) }

// Clone clones the repository over HTTP with the real git and returns the worktree.
func (s *Server) Clone() string {
	s.t.Helper()
	dir := filepath.Join(s.t.TempDir(), "clone")
	s.git("", "clone", "--quiet", s.authenticated(), dir)
	return dir
}

func (s *Server) authenticated() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	u.User = url.UserPassword(Username, Password)
	return u.String()
}

// Fsck fails the test when git finds anything wrong with the repository.
func (s *Server) Fsck() {
	s.t.Helper()
	if out := s.Git("fsck", "--full", "--strict", "--no-dangling"); strings.TrimSpace(out) != "" {
		s.t.Errorf("git fsck: %s", out)
	}
}

// env keeps the machine's and the user's Git configuration out.
func (s *Server) env() []string {
	return []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=bob", "GIT_AUTHOR_EMAIL=bob@example.org", "GIT_COMMITTER_NAME=bob", "GIT_COMMITTER_EMAIL=bob@example.org"}
}

func (s *Server) git(stdin string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Env = s.env()
	cmd.Stdin = strings.NewReader(stdin)
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		s.t.Errorf("git %s: %v: %s", strings.Join(args, " "), err, problem.String())
	}
	return out.String()
}
