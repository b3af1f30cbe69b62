package gitstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

const (
	// maxPack bounds the bytes of one fetch.
	maxPack = 8 << 30
	// unpackLimit is how many objects a fetch may bring and still be stored one by one. Small fetches come with every
	// foreign push; kept as packs they would make every look-up slower.
	unpackLimit = 100
	// fetchPattern names the files a fetch writes before its pack is complete.
	fetchPattern = "fetching-*"
)

// Probe returns nil when the server shows the repository to these credentials, be it empty.
func (r *Repository) Probe(ctx context.Context) error {
	_, _, _, err := r.list(ctx)
	if err != nil && !errors.Is(err, ErrEmptyRepository) {
		return fmt.Errorf("list the refs of the repository: %w", err)
	}
	return nil
}

// Tip returns the full hash of the remote branch and fetches nothing. Errors: ErrEmptyRepository, ErrBranchNotFound, and
// those of every exchange: ErrAuthentication, ErrRepositoryNotFound, ErrUnreachable.
func (r *Repository) Tip(ctx context.Context, branch string) (string, error) {
	_, adv, _, err := r.list(ctx)
	if err != nil {
		return "", fmt.Errorf("read the tip of %s: %w", branch, err)
	}
	hash, ok := adv.References[refName(branch).String()]
	if !ok {
		return "", fmt.Errorf("read the tip of %s: %w", branch, ErrBranchNotFound)
	}
	return hash.String(), nil
}

// list returns the refs the server advertises and the session that read them, to go on with.
func (r *Repository) list(ctx context.Context) (transport.UploadPackSession, *packp.AdvRefs, Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	creds, endpoint, err := r.reach(ctx)
	if err != nil {
		return nil, nil, creds, err
	}
	session, err := r.client.NewUploadPackSession(endpoint, creds.auth())
	if err != nil {
		return nil, nil, creds, classify(err, creds)
	}
	adv, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, nil, creds, classify(err, creds)
	}
	return session, adv, creds, nil
}

// reach returns what a new session needs. The endpoint is made each time because a session writes redirects into it.
func (r *Repository) reach(ctx context.Context) (Credentials, *transport.Endpoint, error) {
	var creds Credentials
	if r.opts.Credentials != nil {
		var err error
		if creds, err = r.opts.Credentials(ctx); err != nil {
			return creds, nil, &remoteError{kind: ErrAuthentication, text: "read the credentials: " + clean(err.Error(), creds)}
		}
	}
	endpoint, err := transport.NewEndpoint(r.url)
	if err != nil {
		return creds, nil, classify(err, creds)
	}
	return creds, endpoint, nil
}

// Fetch brings the branch's history up to its tip into the store and returns the tip's hash. Errors are those of Tip.
func (r *Repository) Fetch(ctx context.Context, branch string) (string, error) {
	session, adv, creds, err := r.list(ctx)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", branch, err)
	}
	want, ok := adv.References[refName(branch).String()]
	if !ok {
		return "", fmt.Errorf("fetch %s: %w", branch, ErrBranchNotFound)
	}
	have, known := r.fetched(branch)
	if known && have == want {
		return want.String(), nil
	}
	req := packp.NewUploadPackRequestFromCapabilities(adv.Capabilities)
	req.Wants = []plumbing.Hash{want}
	if known {
		req.Haves = []plumbing.Hash{have}
	}
	if err := r.receive(ctx, session, req, creds); err != nil {
		return "", fmt.Errorf("fetch %s: %w", branch, err)
	}
	if err := r.recordFetched(branch, want); err != nil {
		return "", fmt.Errorf("fetch %s: record the tip: %w", branch, err)
	}
	return want.String(), nil
}

// receive downloads the pack that req asks for and then stores it. A broken download leaves the store as it was.
func (r *Repository) receive(ctx context.Context, session transport.UploadPackSession, req *packp.UploadPackRequest, creds Credentials) error {
	ctx, cancel := context.WithTimeout(ctx, r.opts.FetchTimeout)
	defer cancel()
	file, err := os.CreateTemp(r.dir, fetchPattern)
	if err != nil {
		return fmt.Errorf("make room for the pack: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()

	res, err := session.UploadPack(ctx, req)
	if err != nil {
		return classify(err, creds)
	}
	defer func() { _ = res.Close() }()
	n, err := io.Copy(file, io.LimitReader(demux(req.Capabilities, res), maxPack+1))
	switch {
	case err != nil:
		return classify(err, creds)
	case n > maxPack:
		return fmt.Errorf("the pack: %w", ErrTooLarge)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return r.unpack(file)
}

// demux returns the pack inside an answer that may be wrapped in a side band.
func demux(caps *capability.List, answer io.Reader) io.Reader {
	switch {
	case caps.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, answer)
	case caps.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, answer)
	}
	return answer
}

// unpack stores a complete pack: a small one object by object, a large one as it is.
func (r *Repository) unpack(pack io.ReadSeeker) error {
	head := make([]byte, 12) // "PACK", version, number of objects
	if _, err := io.ReadFull(pack, head); err != nil {
		return &remoteError{kind: ErrUnreachable, text: "the pack ended early"}
	}
	if _, err := pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if binary.BigEndian.Uint32(head[8:]) > unpackLimit {
		return packfile.WritePackfileToObjectStorage(r.store, pack)
	}
	parser, err := packfile.NewParserWithStorage(packfile.NewScanner(pack), r.store)
	if err != nil {
		return err
	}
	_, err = parser.Parse()
	return err
}

func refName(branch string) plumbing.ReferenceName { return plumbing.NewBranchReferenceName(branch) }

// localRef names the store's note of a branch's tip. It is a hash because branches a and a/b may follow one another.
func localRef(branch string) plumbing.ReferenceName {
	sum := sha256.Sum256([]byte(branch))
	return plumbing.ReferenceName("refs/holdfast/" + hex.EncodeToString(sum[:12]))
}

// fetched returns the tip up to which the store has all of the branch's history.
func (r *Repository) fetched(branch string) (plumbing.Hash, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ref, err := r.store.Reference(localRef(branch))
	if err != nil || r.store.HasEncodedObject(ref.Hash()) != nil {
		return plumbing.ZeroHash, false
	}
	return ref.Hash(), true
}

func (r *Repository) recordFetched(branch string, tip plumbing.Hash) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.store.SetReference(plumbing.NewHashReference(localRef(branch), tip))
}
