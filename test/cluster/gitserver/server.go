package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	maxBody = 64 << 20 // bytes of one request; CGI needs to know the length, so a chunked body is read first
)

// Server serves the repositories of one folder. All methods may be called from any goroutine.
type Server struct {
	dir     string            // repositories, as name.git
	home    string            // an empty home, so that no setting of this machine's user matters
	addr    string            // host:port, kept through outages
	host    string            // host:port by which clients find it
	users   map[string]string // password by name
	backend string            // path of git http-backend

	mu   sync.Mutex
	http *http.Server // nil: down
}

// Start serves the repositories in dir (made when missing) on addr, "127.0.0.1:0" for any free port, to users, a
// password by name. Every user may read and write everything. Stop it with Down.
func Start(dir, addr string, users map[string]string) (*Server, error) {
	backend, err := findBackend()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: filepath.Join(dir, "repositories"), home: filepath.Join(dir, "home"), addr: addr, users: users, backend: backend}
	for _, d := range []string{s.dir, s.home} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, fmt.Errorf("start the git server: %w", err)
		}
	}
	return s, s.Up()
}

// findBackend returns the path of git http-backend, which comes with git but not on PATH.
func findBackend() (string, error) {
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", fmt.Errorf("git is missing, install git: %w", err)
	}
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return "", fmt.Errorf("git http-backend is missing, install the package of git that has it: %w", err)
	}
	return backend, nil
}

// URL is where clients find the repository name; it carries no credentials.
func (s *Server) URL(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return "http://" + cmp.Or(s.host, s.addr) + "/" + name + ".git"
}

// Addr is the host:port it listens on.
func (s *Server) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// FoundAt makes URL name another host:port, for clients that reach the server by way of it.
func (s *Server) FoundAt(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host = host
}

// Password is the password of user, empty for an unknown one.
func (s *Server) Password(user string) string { return s.users[user] }

// Dir is the folder of the bare repositories, for a person who wants to look.
func (s *Server) Dir() string { return s.dir }

// Down begins an outage, or ends the server: running requests are cut and new connections refused, on a port that is
// kept for Up. Does nothing when the server is down.
func (s *Server) Down() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return nil
	}
	srv := s.http
	s.http = nil
	return srv.Close()
}

// Up ends an outage. Does nothing when the server is up.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return fmt.Errorf("start the git server: %w", err)
	}
	s.addr = l.Addr().String()
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.http = srv
	go func() { _ = srv.Serve(l) }() // returns when Down closes it, and only then
	return nil
}

// ServeHTTP lets known users through to git http-backend.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if !s.knows(user, password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		http.Error(w, "wrong user name or password", http.StatusUnauthorized)
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if _, err := os.Stat(filepath.Join(s.dir, name, "HEAD")); err != nil || !strings.HasSuffix(name, ".git") {
		http.Error(w, "repository not found", http.StatusNotFound)
		return
	}
	if err := knowLength(r); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	h := &cgi.Handler{
		Path:   s.backend,
		Dir:    s.dir,
		Env:    append(gitEnv(s.home), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+user),
		Stderr: io.Discard,
	}
	h.ServeHTTP(w, r)
}

func (s *Server) knows(user, password string) bool {
	want, ok := s.users[user]
	return ok && subtle.ConstantTimeCompare([]byte(want), []byte(password)) == 1
}

// knowLength reads a chunked body, which git sends for a large push, because CGI passes on the length first.
func knowLength(r *http.Request) error {
	if r.ContentLength >= 0 {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if len(body) > maxBody {
		return fmt.Errorf("the push is larger than %d bytes", maxBody)
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return nil
}

// gitEnv keeps the settings of this machine and of its user out of what git does.
func gitEnv(home string) []string {
	return []string{"HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
}

// git runs git in the repository name and returns its standard output.
func (s *Server) git(ctx context.Context, name, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = s.path(name)
	cmd.Env = append(gitEnv(s.home), "PATH="+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s in %s: %w: %s", args[0], name, err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name+".git") }

// errNoRepository is what every method says about a repository that was never added.
var errNoRepository = errors.New("no such repository; add it with AddRepo")
