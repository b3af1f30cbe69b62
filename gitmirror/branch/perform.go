package branch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// Repository is what a worker needs of a gitstore.Repository.
type Repository interface {
	Fetch(ctx context.Context, branch string) (string, error)
	Tree(commit, folder string) (*gitstore.Tree, error)
	Commit(change gitstore.Change) (gitstore.Commit, error)
	Push(ctx context.Context, branch, old string, commits []gitstore.Commit) error
	Walk(tip, stop string, visit func(hash, message string) bool) error
}

// Planner turns intents into files; a manifest.Index does.
type Planner interface {
	Plan(folder string, t manifest.Tree, intents []manifest.Intent) (manifest.Result, error)
}

// performer runs effects, one at a time.
type performer struct {
	repo    Repository
	planner Planner
	branch  string
	now     func() time.Time
	made    map[string]gitstore.Commit // by hash, of the newest Commit effect
}

// perform runs one effect and returns the event that answers it.
func (p *performer) perform(ctx context.Context, e Effect) Event {
	switch e := e.(type) {
	case Sync:
		return p.sync(ctx, e)
	case Commit:
		return p.commit(e)
	case Push:
		return p.push(ctx, e)
	}
	panic(fmt.Sprintf("no such effect: %T", e))
}

func (p *performer) sync(ctx context.Context, e Sync) Event {
	tip, err := p.repo.Fetch(ctx, p.branch)
	if errors.Is(err, gitstore.ErrEmptyRepository) {
		return Synced{Now: p.now()}
	}
	if err != nil {
		return Synced{Now: p.now(), Err: err}
	}
	landed, err := p.landed(tip, e)
	return Synced{Now: p.now(), Tip: tip, Landed: landed, Err: err}
}

// landed looks for the doubts in the history of the tip.
func (p *performer) landed(tip string, e Sync) (map[string]string, error) {
	if len(e.Doubts) == 0 {
		return nil, nil
	}
	writes, commits := map[string]bool{}, map[string]string{}
	for _, d := range e.Doubts {
		writes[d.Write], commits[d.Commit] = true, d.Write
	}
	found := map[string]string{}
	err := p.repo.Walk(tip, e.Since, func(hash, text string) bool {
		id, ok := commits[hash]
		if !ok {
			id = writeOf(text)
		}
		if writes[id] {
			found[id] = hash
		}
		return len(found) < len(writes)
	})
	return found, err
}

func (p *performer) commit(e Commit) Event {
	p.made = map[string]gitstore.Commit{}
	out := Committed{}
	base, stuck := e.Base, map[string]bool{}
	for _, w := range e.Writes {
		if stuck[w.Target.String()] {
			continue
		}
		d, err := p.one(base, w)
		if err != nil {
			return Committed{Now: p.now(), Err: err}
		}
		if d.Commit != "" {
			base = d.Commit
		}
		stuck[w.Target.String()] = d.Err != nil
		out.Done = append(out.Done, d)
	}
	out.Now = p.now()
	return out
}

// one plans and commits one write. The error is the store's; a folder that cannot be written is in Done.
func (p *performer) one(base string, w Write) (Done, error) {
	d := Done{Write: w.ID}
	folder, err := p.repo.Tree(base, w.Folder)
	if errors.Is(err, gitstore.ErrPath) {
		d.Err = err
		return d, nil
	}
	if err != nil {
		return d, err
	}
	plan, err := p.planner.Plan(w.Folder, tree{folder}, w.Intents)
	if err != nil {
		d.Err = err
		return d, nil
	}
	d.Refused = plan.Refused
	if len(plan.Files) == 0 {
		return d, nil
	}
	created, err := creations(folder, w, plan)
	if err != nil {
		return d, err
	}
	made, err := p.repo.Commit(gitstore.Change{
		Parent: base, Files: plan.Files, Message: message(w, plan.Written, created),
		Author:    gitstore.Signature{Name: w.Author.Name, Email: w.Author.Email, When: w.Made.UTC()},
		Committer: gitstore.Signature{Name: w.Committer.Name, Email: w.Committer.Email, When: p.now()},
	})
	switch {
	case errors.Is(err, gitstore.ErrNothingToCommit):
		return d, nil
	case errors.Is(err, gitstore.ErrPath):
		d.Err = err
		return d, nil
	case err != nil:
		return d, err
	}
	d.Commit = made.Hash
	p.made[made.Hash] = made
	return d, nil
}

// creations returns the objects whose document is in a file of its own that was not there before.
func creations(folder *gitstore.Tree, w Write, plan manifest.Result) (map[manifest.Identity]bool, error) {
	files, err := folder.Files()
	if err != nil {
		return nil, err
	}
	fresh := make(map[string]bool, len(plan.Files))
	for path := range plan.Files {
		fresh[path] = true
	}
	for _, f := range files {
		delete(fresh, f.Path)
	}
	created := map[manifest.Identity]bool{}
	for _, in := range w.Intents {
		if path, err := manifest.NewFilePath(w.Folder, in.Object, in.Resource); err == nil && fresh[path] {
			created[in.Object] = true
		}
	}
	return created, nil
}

func (p *performer) push(ctx context.Context, e Push) Event {
	commits := make([]gitstore.Commit, 0, len(e.Commits))
	for _, hash := range e.Commits {
		commits = append(commits, p.made[hash])
	}
	err := p.repo.Push(ctx, p.branch, e.Old, commits)
	var moved *gitstore.MovedError
	return Pushed{Now: p.now(), Moved: errors.As(err, &moved), Err: err}
}

// tree shows a folder of the store to a planner.
type tree struct{ *gitstore.Tree }

func (t tree) Files() ([]manifest.File, error) {
	files, err := t.Tree.Files()
	out := make([]manifest.File, len(files))
	for i, f := range files {
		out[i] = manifest.File(f)
	}
	return out, err
}

func (t tree) Read(path string) ([]byte, error) {
	text, err := t.Tree.Read(path)
	if errors.Is(err, gitstore.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", manifest.ErrUnreadable, err)
	}
	return text, err
}
