package flux

import (
	"fmt"
	"slices"
)

// Commit is one commit of the branch main.
type Commit struct {
	Hash    string
	Content string // what it says; commits of equal content build equal manifests
	Broken  bool   // the second of its objects is refused by the API server
}

// Revision is how Flux names the commit.
func (c Commit) Revision() string { return "main@sha1:" + c.Hash }

// Repo is a Git repository with one branch.
type Repo struct{ commits []Commit }

// Push puts a commit on the branch and returns it.
func (r *Repo) Push(content string, broken bool) Commit {
	c := Commit{Hash: fmt.Sprintf("%040x", len(r.commits)+1), Content: content, Broken: broken}
	r.commits = append(r.commits, c)
	return c
}

// Head returns the newest commit; the zero Commit when there is none.
func (r *Repo) Head() Commit {
	if len(r.commits) == 0 {
		return Commit{}
	}
	return r.commits[len(r.commits)-1]
}

// Pushed returns how many commits the branch has.
func (r *Repo) Pushed() int { return len(r.commits) }

// at returns the commit of a revision.
func (r *Repo) at(revision string) Commit {
	i := slices.IndexFunc(r.commits, func(c Commit) bool { return c.Revision() == revision })
	if i < 0 {
		panic("no commit has revision " + revision)
	}
	return r.commits[i]
}
