package gitstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// What an operation can end with; ask with errors.Is.
var (
	// ErrAuthentication: the server refuses the credentials, or wants some.
	ErrAuthentication = errors.New("the server refuses these credentials; check the Secret, and that it may write this repository")
	// ErrRepositoryNotFound: the server knows no such repository, or hides it from these credentials.
	ErrRepositoryNotFound = errors.New("the server has no such repository, or hides it from these credentials")
	// ErrUnreachable: no answer, or one that is not Git's. Trying again later may help.
	ErrUnreachable = errors.New("the Git server cannot be reached")
	// ErrEmptyRepository: the repository exists and has no commit at all; the first push makes the branch.
	ErrEmptyRepository = errors.New("the repository has no commits yet")
	// ErrBranchNotFound: the repository has other branches, not this one.
	ErrBranchNotFound = errors.New("the repository has no such branch; create it")
	// ErrPath: a path that may not be read or written, such as one that leaves the folder or goes through a symlink.
	ErrPath = errors.New("not a path of a regular file inside the repository")
	// ErrTooLarge: a file or a folder is larger than this package reads.
	ErrTooLarge = errors.New("too large to read")
	// ErrNothingToCommit: the files already have that content.
	ErrNothingToCommit = errors.New("nothing to commit")
)

// RejectedError says that the server refused a push and that the branch is where it was.
type RejectedError struct {
	// Text is the server's own words, bounded and without control characters.
	Text string
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the server rejected the push; allow this account to push the branch: %s", e.Text)
}

// MovedError says that the branch is neither where the push expected it nor where the push would have put it.
type MovedError struct {
	// Tip of the remote branch, as a full hash; empty when the branch is gone.
	Tip string
}

func (e *MovedError) Error() string {
	if e.Tip == "" {
		return "the branch is gone"
	}
	return fmt.Sprintf("the branch moved to %s", e.Tip)
}

// remoteError is a failed exchange with the server. Its text is made here and never taken over from a library unchecked.
type remoteError struct {
	kind  error
	cause error // only ever context.Canceled or context.DeadlineExceeded
	text  string
}

func (e *remoteError) Error() string {
	if e.text == "" {
		return e.kind.Error()
	}
	return e.kind.Error() + ": " + e.text
}

func (e *remoteError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.kind}
	}
	return []error{e.kind, e.cause}
}

// classify turns whatever go-git returned into one of this package's errors, without the credentials that were used.
func classify(err error, c Credentials) error {
	if err == nil {
		return nil
	}
	out := &remoteError{kind: ErrUnreachable, text: clean(err.Error(), c)}
	switch {
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return ErrEmptyRepository
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		out.kind = ErrAuthentication
	case errors.Is(err, transport.ErrRepositoryNotFound):
		out.kind = ErrRepositoryNotFound
	case errors.Is(err, context.Canceled):
		out.cause = context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		out.cause = context.DeadlineExceeded
	}
	return out
}

// maxText bounds in bytes what is repeated of a server's words.
const maxText = 512

// clean returns text on one line, bounded, with every spelling of a credential taken out.
func clean(text string, c Credentials) string {
	for _, secret := range c.spellings() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))), " ")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// spellings returns every form in which c can appear in a text.
func (c Credentials) spellings() []string {
	var all []string
	for _, s := range []string{c.Password, c.BearerToken} {
		if s != "" {
			all = append(all, s)
		}
	}
	if c.Password != "" {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password)))
	}
	return all
}
