package gitstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func password(context.Context) (gitstore.Credentials, error) {
	return gitstore.Credentials{Username: gitstoretest.Username, Password: gitstoretest.Password}, nil
}

func open(t testing.TB, s *gitstoretest.Server) *gitstore.Repository {
	t.Helper()
	return openWith(t, s.URL, gitstore.Options{Credentials: password, Timeout: 20 * time.Second})
}

func openWith(t testing.TB, url string, opts gitstore.Options) *gitstore.Repository {
	t.Helper()
	r, err := gitstore.Open(t.TempDir(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func fetch(t testing.TB, r *gitstore.Repository) string {
	t.Helper()
	tip, err := r.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return tip
}

func change(parent string, files map[string]string) gitstore.Change {
	raw := map[string][]byte{}
	for name, content := range files {
		raw[name] = []byte(content)
	}
	return gitstore.Change{
		Parent: parent, Files: raw, Message: "update something\n",
		Author:    gitstore.Signature{Name: "alice", Email: "alice@example.org", When: at},
		Committer: gitstore.Signature{Name: "Holdfast", Email: "holdfast@holdfast.invalid", When: at.Add(time.Minute)},
	}
}

func commit(t testing.TB, r *gitstore.Repository, parent string, files map[string]string) gitstore.Commit {
	t.Helper()
	c, err := r.Commit(change(parent, files))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func push(t testing.TB, r *gitstore.Repository, old string, commits ...gitstore.Commit) {
	t.Helper()
	if err := r.Push(t.Context(), "main", old, commits); err != nil {
		t.Fatal(err)
	}
}

func TestACommitArrivesByteForByteWithItsAuthor(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"a/b/keep.yaml": "kept: 1\n", "!a/run.sh": "#!/bin/sh\n", "@link": "a/run.sh", "a/old.yaml": "v: 1\r\n"})
	r := open(t, s)
	base := fetch(t, r)
	first := commit(t, r, base, map[string]string{"a/old.yaml": "v: 2\r\n# \u00e9 \x80\r\n", "a/run.sh": "#!/bin/sh\nexit\n", "new/x/y.yaml": "n: 1\n"})
	second := commit(t, r, first.Hash, map[string]string{"a/old.yaml": "v: 3\r\n"})
	push(t, r, base, first, second)

	s.Fsck()
	got := s.Git("log", "-1", "--format=%an|%ae|%aI|%cn|%ce|%cI|%s|%P")
	if want := "alice|alice@example.org|2026-03-04T05:06:07+00:00|Holdfast|holdfast@holdfast.invalid|2026-03-04T05:07:07+00:00|update something|" + first.Hash; got != want {
		t.Errorf("commit is %s, want %s", got, want)
	}
	if got := s.Git("show", first.Hash+":a/old.yaml"); got != "v: 2\r\n# \u00e9 \x80\r" {
		t.Errorf("content is %q", got)
	}
	tree := s.Git("ls-tree", "-r", "--format=%(objectmode) %(path)", "main")
	want := "100644 a/b/keep.yaml\n100644 a/old.yaml\n100755 a/run.sh\n120000 link\n100644 new/x/y.yaml"
	if diff := cmp.Diff(want, tree); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	clone := s.Clone()
	if b, err := os.ReadFile(filepath.Join(clone, "a/old.yaml")); err != nil || string(b) != "v: 3\r\n" {
		t.Errorf("clone has %q, %v", b, err)
	}
}

func TestATreeListsTheFilesOfItsFolderAndFollowsNoLink(t *testing.T) {
	s := gitstoretest.New(t)
	big := strings.Repeat("x", gitstore.MaxFileBytes+1)
	s.Push("main", "bob", "start", map[string]string{"team/a.yaml": "a", "team/sub/b.yaml": "b", "@team/out": "../../etc/passwd", "other.yaml": "o", "team/big": big})
	r := open(t, s)
	tip := fetch(t, r)

	tree, err := r.Tree(tip, "team")
	if err != nil {
		t.Fatal(err)
	}
	files, err := tree.Files()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, f := range files {
		if f.Other {
			f.Path += " other"
		}
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"team/a.yaml", "team/big", "team/out other", "team/sub/b.yaml"}, paths); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if b, err := tree.Read("team/sub/b.yaml"); err != nil || string(b) != "b" {
		t.Errorf("read %q, %v", b, err)
	}
	for _, outside := range []string{"other.yaml", "team/out", "team/../other.yaml"} {
		if _, err := tree.Read(outside); !errors.Is(err, gitstore.ErrPath) {
			t.Errorf("Read(%q) = %v, want ErrPath", outside, err)
		}
	}
	if _, err := tree.Read("team/big"); !errors.Is(err, gitstore.ErrTooLarge) {
		t.Errorf("a large file: %v, want ErrTooLarge", err)
	}
	for _, folder := range []string{"nowhere", "team/nowhere"} {
		tree, err := r.Tree(tip, folder)
		if err != nil {
			t.Fatal(err)
		}
		if files, err := tree.Files(); err != nil || len(files) != 0 {
			t.Errorf("folder %s has %v, %v", folder, files, err)
		}
	}
}

// B51
func TestPathsThatEscapeAreRefusedForReadAndWrite(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"file": "f", "@link": "/proc/self", "dir/x": "x", "@dir/environ": "/proc/self/environ"})
	r := open(t, s)
	tip := fetch(t, r)
	for _, path := range []string{"../x", "a/../../x", "/etc/passwd", "", "a//b", "a/", "./a", ".git/config", "a/.GIT/hooks/x", "a/.git./x", "git~1/x",
		".g\u200cit/config", "a\\..\\b", "c:x", "a\x00b", "link/environ", "link", "dir/environ", "dir", "file/below", strings.Repeat("a/", 70) + "x"} {
		if _, err := r.Commit(change(tip, map[string]string{path: "evil"})); !errors.Is(err, gitstore.ErrPath) {
			t.Errorf("Commit(%q) = %v, want ErrPath", path, err)
		}
	}
	if _, err := r.Commit(change(tip, map[string]string{"n": "1", "n/m": "2"})); !errors.Is(err, gitstore.ErrPath) {
		t.Errorf("a file that is also a folder: %v, want ErrPath", err)
	}
	for _, folder := range []string{"..", "/", "link", "link/environ", "file", "dir/../dir", ".git"} {
		if _, err := r.Tree(tip, folder); !errors.Is(err, gitstore.ErrPath) {
			t.Errorf("Tree(%q) = %v, want ErrPath", folder, err)
		}
	}
}

func TestCommittingWhatIsThereIsNothingToCommit(t *testing.T) {
	s := gitstoretest.New(t)
	s.Push("main", "bob", "start", map[string]string{"a": "1"})
	r := open(t, s)
	if _, err := r.Commit(change(fetch(t, r), map[string]string{"a": "1"})); !errors.Is(err, gitstore.ErrNothingToCommit) {
		t.Errorf("got %v", err)
	}
}

func TestASignatureCannotForgeAHeader(t *testing.T) {
	r := open(t, gitstoretest.New(t))
	c := change("", map[string]string{"a": "1"})
	c.Author.Name = "eve\ncommitter root <r@r> 0 +0000"
	if _, err := r.Commit(c); err == nil {
		t.Error("committed")
	}
}

// B46
func TestTheFirstCommitOfAnEmptyRepositoryCreatesTheBranch(t *testing.T) {
	s := gitstoretest.New(t)
	r := open(t, s)
	if _, err := r.Tip(t.Context(), "main"); !errors.Is(err, gitstore.ErrEmptyRepository) {
		t.Fatalf("tip of an empty repository: %v", err)
	}
	if err := r.Probe(t.Context()); err != nil {
		t.Errorf("an empty repository is reachable, got %v", err)
	}
	tree, err := r.Tree("", "team")
	if err != nil {
		t.Fatal(err)
	}
	if files, err := tree.Files(); err != nil || len(files) != 0 {
		t.Errorf("files %v, %v", files, err)
	}
	first := commit(t, r, "", map[string]string{"team/a.yaml": "a: 1\n"})
	push(t, r, "", first)
	s.Fsck()
	if got := s.Tip("main"); got != first.Hash {
		t.Errorf("tip %s, want %s", got, first.Hash)
	}
	if _, err := r.Tip(t.Context(), "release/1"); !errors.Is(err, gitstore.ErrBranchNotFound) {
		t.Errorf("a missing branch: %v", err)
	}
	s.Clone()
}

// B47: what a commit writes and a push sends follows the change, not the repository.
func TestACommitMakesOnlyWhatItChangesInALargeRepository(t *testing.T) {
	sizes := map[int]int{}
	for _, files := range []int{50, 5000} {
		s := gitstoretest.New(t)
		s.Push("main", "bob", "start", grid(files))
		var sent int
		s.Intercept(func(w http.ResponseWriter, req *http.Request, serve http.Handler) {
			if gitstoretest.IsPush(req) {
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Error(err)
				}
				pack := body[bytes.Index(body, []byte("PACK")):]
				sent = int(pack[8])<<24 | int(pack[9])<<16 | int(pack[10])<<8 | int(pack[11])
				req.Body = io.NopCloser(bytes.NewReader(body))
			}
			serve.ServeHTTP(w, req)
		})
		r := open(t, s)
		base := fetch(t, r)
		push(t, r, base, commit(t, r, base, map[string]string{"d0/f0.yaml": "changed: true\n"}))
		sizes[files] = sent
	}
	// A blob, the folder, the root, the commit.
	if sizes[50] != 4 || sizes[5000] != 4 {
		t.Errorf("objects sent by repository size: %v, want 4 each", sizes)
	}
}

// grid returns n files, 50 in each folder.
func grid(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/f%d.yaml", i/50, i%50)] = fmt.Sprintf("value: %d\n", i)
	}
	return files
}

func BenchmarkCommit(b *testing.B) {
	for _, files := range []int{50, 5000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			s := gitstoretest.New(b)
			s.Push("main", "bob", "start", grid(files))
			r := open(b, s)
			base := fetch(b, r)
			n := 0
			for b.Loop() {
				n++
				base = commit(b, r, base, map[string]string{"d0/f0.yaml": fmt.Sprintf("value: %d\n", -n)}).Hash
			}
		})
	}
}
