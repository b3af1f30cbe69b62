package gitstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Credentials are how a server is asked. The zero value asks anonymously; a bearer token wins over a password.
type Credentials struct {
	Username    string
	Password    string
	BearerToken string
}

// auth returns c in go-git's words; nil is anonymous.
func (c Credentials) auth() transport.AuthMethod {
	switch {
	case c.BearerToken != "":
		return &githttp.TokenAuth{Token: c.BearerToken}
	case c.Username != "" || c.Password != "":
		return &githttp.BasicAuth{Username: c.Username, Password: c.Password}
	}
	return nil
}

// Options say how a repository is reached.
type Options struct {
	// Credentials is called before every exchange, so that a rotated Secret is used at once. Nil asks anonymously.
	Credentials func(context.Context) (Credentials, error)
	// Timeout bounds listing the refs and pushing, each. Default 30s.
	Timeout time.Duration
	// FetchTimeout bounds one fetch, the first of which brings the branch's whole history. Default 10m.
	FetchTimeout time.Duration
}

// Repository is one remote repository and its objects on disk. It may be used by several goroutines.
type Repository struct {
	url    string
	dir    string
	opts   Options
	client transport.Transport

	mu    sync.Mutex // guards store, which go-git does not
	store *filesystem.Storage
}

// maxObjectCache bounds the decoded objects kept in memory.
const maxObjectCache = 16 * cache.MiByte

// Open returns the repository at rawURL with its objects in a folder of its own under dataDir. It asks the server nothing.
// A process opens a URL once and shares the Repository.
// The URL is http or https and carries no credentials, query or fragment.
func Open(dataDir, rawURL string, opts Options) (*Repository, error) {
	if err := checkURL(rawURL); err != nil {
		return nil, err
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 30 * time.Second
	}
	if opts.FetchTimeout <= 0 {
		opts.FetchTimeout = 10 * time.Minute
	}
	sum := sha256.Sum256([]byte(rawURL))
	dir := filepath.Join(dataDir, hex.EncodeToString(sum[:12])+".git")
	if err := tidy(dir); err != nil {
		return nil, fmt.Errorf("tidy the object store: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the object store: %w", err)
	}
	// Not with ExclusiveAccess: that lists every object anew after each one written.
	store := filesystem.NewStorage(osfs.New(dir), cache.NewObjectLRU(maxObjectCache))
	if err := store.Init(); err != nil {
		return nil, fmt.Errorf("make the object store: %w", err)
	}
	client := githttp.NewClientWithOptions(newClient(), &githttp.ClientOptions{RedirectPolicy: githttp.FollowInitialRedirects})
	return &Repository{url: rawURL, dir: dir, opts: opts, client: client, store: store}, nil
}

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("the url does not parse; it must be http(s)://host/path")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("the url must be http(s)://host/path")
	case u.User != nil:
		return errors.New("the url must not carry credentials; put them into the Secret")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("the url must not have a query or a fragment")
	}
	return nil
}

// What tidy allows to gather before it starts the store anew.
const (
	maxPacks     = 64
	maxFanOutDir = 400 // loose objects in one of the 256 folders; about 100 000 in all
)

// tidy removes what a killed fetch left in dir, and the whole store when it has gathered more than it should: it is a
// cache, and go-git has no way to repack it while it is in use.
func tidy(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, fetchPattern))
	if err != nil {
		return err
	}
	for _, f := range left {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*.pack"))
	if err != nil {
		return err
	}
	// Hashes spread evenly, so one folder tells about all.
	loose, err := filepath.Glob(filepath.Join(dir, "objects", "00", "*"))
	if err != nil {
		return err
	}
	if len(packs) > maxPacks || len(loose) > maxFanOutDir {
		return os.RemoveAll(dir)
	}
	return nil
}
