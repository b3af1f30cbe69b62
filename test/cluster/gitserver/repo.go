package gitserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Branch is the branch AddRepo begins.
const Branch = "main"

// Author is who a commit made here says it is from; he is its committer as well.
type Author struct{ Name, Email string }

// seeder writes the first commit of every repository.
var seeder = Author{Name: "Seed", Email: "seed@example.org"}

// Commit is one commit as a reader of the log sees it.
type Commit struct {
	Hash                          string
	AuthorName, AuthorEmail       string
	CommitterName, CommitterEmail string
	Message                       string   // whole, trailers included, without the newlines at its end
	Files                         []string // changed paths, sorted; none for a merge
}

// AddRepo makes the bare repository name with one commit on main that has files (content by path).
func (s *Server) AddRepo(ctx context.Context, name string, files map[string]string) error {
	if _, err := os.Stat(s.path(name)); err == nil {
		return fmt.Errorf("add repository %s: it is already there", name)
	}
	if err := os.Mkdir(s.path(name), 0o755); err != nil {
		return fmt.Errorf("add repository %s: %w", name, err)
	}
	if _, err := s.git(ctx, name, "", "init", "--quiet", "--bare", "--initial-branch", Branch); err != nil {
		return err
	}
	_, err := s.Commit(ctx, name, Branch, seeder, "Begin", files)
	return err
}

// Commit puts a commit on the branch as somebody else's push would, whatever the hook or an outage says, and returns
// its hash. files is content by path; a path with no content is removed. It fails when the branch moves meanwhile.
func (s *Server) Commit(ctx context.Context, name, branch string, author Author, message string, files map[string]string) (string, error) {
	parent, err := s.Head(ctx, name, branch)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/%s\n", branch)
	fmt.Fprintf(&in, "committer %s <%s> %d +0000\n", author.Name, author.Email, time.Now().Unix())
	fmt.Fprintf(&in, "data %d\n%s\n", len(message), message)
	if parent != "" {
		fmt.Fprintf(&in, "from %s\n", parent)
	}
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		if content := files[path]; content == "" {
			fmt.Fprintf(&in, "D %s\n", path)
		} else {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		}
	}
	if _, err := s.git(ctx, name, in.String(), "fast-import", "--quiet", "--date-format=raw"); err != nil {
		return "", fmt.Errorf("commit to %s: %w", branch, err)
	}
	return s.Head(ctx, name, branch)
}

// Head is the hash the branch points at; the error is fs.ErrNotExist for a branch that does not exist.
func (s *Server) Head(ctx context.Context, name, branch string) (string, error) {
	if err := s.exists(name); err != nil {
		return "", err
	}
	out, err := s.git(ctx, name, "", "for-each-ref", "--format=%(objectname)", "refs/heads/"+branch)
	if err != nil {
		return "", err
	}
	if out == "" {
		return "", fmt.Errorf("branch %s of %s: %w", branch, name, fs.ErrNotExist)
	}
	return strings.TrimSpace(out), nil
}

// Log returns the commits of the branch, newest first.
func (s *Server) Log(ctx context.Context, name, branch string) ([]Commit, error) {
	if _, err := s.Head(ctx, name, branch); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, name, "", "-c", "core.quotePath=false", "log", "--name-only",
		"--format=%x1e%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%B%x1f", "refs/heads/"+branch, "--")
	if err != nil {
		return nil, err
	}
	var commits []Commit
	for _, record := range strings.Split(out, "\x1e")[1:] {
		f := strings.Split(record, "\x1f")
		if len(f) != 7 {
			return nil, fmt.Errorf("read the log of %s: a commit message with control characters", name)
		}
		files := strings.FieldsFunc(f[6], func(r rune) bool { return r == '\n' })
		slices.Sort(files)
		commits = append(commits, Commit{Hash: f[0], AuthorName: f[1], AuthorEmail: f[2], CommitterName: f[3], CommitterEmail: f[4],
			Message: strings.TrimRight(f[5], "\n"), Files: files})
	}
	return commits, nil
}

// ReadFile is the content of path at ref, a branch or a hash; the error is fs.ErrNotExist when there is none.
func (s *Server) ReadFile(ctx context.Context, name, ref, path string) (string, error) {
	files, err := s.Files(ctx, name, ref)
	if err != nil {
		return "", err
	}
	if !slices.Contains(files, path) {
		return "", fmt.Errorf("%s at %s of %s: %w", path, ref, name, fs.ErrNotExist)
	}
	return s.git(ctx, name, "", "cat-file", "blob", ref+":"+path)
}

// Files lists the paths of all files at ref, a branch or a hash.
func (s *Server) Files(ctx context.Context, name, ref string) ([]string, error) {
	if err := s.exists(name); err != nil {
		return nil, err
	}
	out, err := s.git(ctx, name, "", "ls-tree", "-r", "-z", "--name-only", ref)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), nil
}

// SetHook makes script (an executable with its #! line) the repository's pre-receive hook: what it prints reaches the
// pusher, and an exit code other than 0 refuses the push. An empty script removes the hook.
func (s *Server) SetHook(name, script string) error {
	if err := s.exists(name); err != nil {
		return err
	}
	hook := filepath.Join(s.path(name), "hooks", "pre-receive")
	if script == "" {
		if err := os.Remove(hook); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the hook: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		return fmt.Errorf("set the hook: %w", err)
	}
	// By rename: git must never run a script that is written at that moment.
	if err := os.WriteFile(hook+".new", []byte(script), 0o755); err != nil {
		return fmt.Errorf("set the hook: %w", err)
	}
	if err := os.Rename(hook+".new", hook); err != nil {
		return fmt.Errorf("set the hook: %w", err)
	}
	return nil
}

// RefusePushes is a hook that refuses every push with message, which must be one line without a quote.
func RefusePushes(message string) string { return "#!/bin/sh\necho '" + message + "' >&2\nexit 1\n" }

func (s *Server) exists(name string) error {
	if _, err := os.Stat(filepath.Join(s.path(name), "HEAD")); err != nil {
		return fmt.Errorf("%s: %w", name, errNoRepository)
	}
	return nil
}
