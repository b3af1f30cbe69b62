package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
)

// clone is a clone of a repository in which a person works with the git command.
type clone struct {
	git  *gitserver.Server
	repo string
	dir  string
	env  []string
}

// newClone clones repo as bob. The password is sent with the first request, in a header that no file or URL holds.
func newClone(ctx context.Context, w *cluster.World, repo string) (*clone, error) {
	basic := base64.StdEncoding.EncodeToString([]byte(cluster.GitBob + ":" + w.Git.Password(cluster.GitBob)))
	c := &clone{git: w.Git, repo: repo, dir: filepath.Join(w.Dir, "tmp", "clone"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(w.Dir, "home"), "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Bob", "GIT_AUTHOR_EMAIL=" + cluster.Bob, "GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=" + cluster.Bob,
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraHeader", "GIT_CONFIG_VALUE_0=Authorization: Basic " + basic,
	}}
	err := c.run(ctx, "", "clone", "--quiet", w.Git.URL(repo), c.dir)
	return c, err
}

// run runs git in dir.
func (c *clone) run(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, c.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

// pushEdit commits and pushes the file's new content, and returns how long that took until the branch had moved.
func (c *clone) pushEdit(ctx context.Context, file, content string) (time.Duration, error) {
	tip, err := newTip(ctx, c.git, c.repo)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(c.dir, file), []byte(content), 0o644); err != nil {
		return 0, err
	}
	pushed := make(chan error, 1)
	begin := time.Now()
	go func() {
		err := c.run(ctx, c.dir, "commit", "--quiet", "-am", "Change "+file)
		if err == nil {
			err = c.run(ctx, c.dir, "push", "--quiet")
		}
		pushed <- err
	}()
	end, err := tip.moved(ctx)
	if failed := <-pushed; failed != nil {
		return 0, failed
	}
	return end.Sub(begin), err
}

// tip is a branch's file in a bare repository on the server.
type tip struct {
	file   string
	before string // the commit it named
}

// newTip is the branch main of repo as it is now.
func newTip(ctx context.Context, s *gitserver.Server, repo string) (tip, error) {
	head, err := s.Head(ctx, repo, gitserver.Branch)
	return tip{filepath.Join(s.Dir(), repo+".git", "refs", "heads", gitserver.Branch), head}, err
}

// moved returns when the branch was seen to be at another commit, within a millisecond.
func (t tip) moved(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, editBound, fmt.Errorf("the branch did not move within %s", editBound))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		// A branch is one file with one line, put in place by rename.
		content, err := os.ReadFile(t.file)
		if err != nil {
			return time.Time{}, fmt.Errorf("look at the branch: %w", err)
		}
		if strings.TrimSpace(string(content)) != t.before {
			return time.Now(), nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
