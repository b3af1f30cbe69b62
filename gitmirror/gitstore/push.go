package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// Push moves the remote branch from old to the last of commits if it is still at old, and returns nil only when the remote
// branch was read back there. An empty old creates the branch. The commits follow one another, the first on old.
//
// Errors: *MovedError when the branch is somewhere else, which includes somebody having pushed on top of these commits;
// *RejectedError when it is still at old; ErrAuthentication, ErrRepositoryNotFound and ErrUnreachable, after which the
// push may or may not have arrived.
func (r *Repository) Push(ctx context.Context, branch, old string, commits []Commit) error {
	if err := chained(old, commits); err != nil {
		return fmt.Errorf("push %s: %w", refName(branch), err)
	}
	last := commits[len(commits)-1].Hash
	said := r.send(ctx, branch, old, commits)
	tip, err := r.Tip(ctx, branch)
	switch {
	case errors.Is(err, ErrEmptyRepository), errors.Is(err, ErrBranchNotFound):
		tip = ""
	case err != nil && said != nil:
		return fmt.Errorf("push %s: %w", refName(branch), said)
	case err != nil:
		return fmt.Errorf("push %s: confirm: %w", refName(branch), err)
	}
	switch {
	case tip == last:
		if err := r.recordFetched(branch, plumbing.NewHash(last)); err != nil {
			return fmt.Errorf("push %s: record the tip: %w", refName(branch), err)
		}
		return nil
	case tip != old:
		return fmt.Errorf("push %s: %w", refName(branch), &MovedError{Tip: tip})
	case said == nil:
		said = &RejectedError{Text: "it reported success, but the branch did not move"}
	}
	return fmt.Errorf("push %s: %w", refName(branch), said)
}

func chained(old string, commits []Commit) error {
	if len(commits) == 0 {
		return errors.New("no commits")
	}
	for _, c := range commits {
		if c.Parent != old {
			return fmt.Errorf("commit %s is on %q, not on %q", c.Hash, c.Parent, old)
		}
		old = c.Hash
	}
	return nil
}

// send makes the exchange and returns what the server said, which is not yet what is true.
func (r *Repository) send(ctx context.Context, branch, old string, commits []Commit) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	creds, endpoint, err := r.reach(ctx)
	if err != nil {
		return err
	}
	session, err := r.client.NewReceivePackSession(endpoint, creds.auth())
	if err != nil {
		return classify(err, creds)
	}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return classify(err, creds)
	}
	pack, err := r.pack(commits)
	if err != nil {
		return fmt.Errorf("pack the new objects: %w", err)
	}
	req := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	words := &head{max: maxErrorBody}
	if adv.Capabilities.Supports(capability.Sideband64k) {
		if err := req.Capabilities.Set(capability.Sideband64k); err != nil {
			return err
		}
		req.Progress = words
	}
	req.Commands = []*packp.Command{{
		Name: refName(branch),
		Old:  plumbing.NewHash(old),
		New:  plumbing.NewHash(commits[len(commits)-1].Hash),
	}}
	req.Packfile = io.NopCloser(pack)
	report, err := session.ReceivePack(ctx, req)
	switch {
	case report != nil && err != nil:
		return &RejectedError{Text: clean(err.Error()+" "+words.buf.String(), creds)}
	case err != nil:
		return classify(err, creds)
	case report == nil:
		return &remoteError{kind: ErrUnreachable, text: "the server gave no report of the push"}
	}
	return nil
}

// pack returns a pack of the objects the commits made, and no others.
func (r *Repository) pack(commits []Commit) (*bytes.Buffer, error) {
	seen := map[plumbing.Hash]bool{}
	var hashes []plumbing.Hash
	for _, c := range commits {
		for _, h := range c.objects {
			if !seen[h] {
				seen[h] = true
				hashes = append(hashes, h)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var out bytes.Buffer
	_, err := packfile.NewEncoder(&out, r.store, false).Encode(hashes, 0)
	return &out, err
}

// head keeps the first max bytes written to it.
type head struct {
	buf bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.max - h.buf.Len(); room > 0 {
		h.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
