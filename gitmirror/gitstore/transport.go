package gitstore

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	maxErrorBody = 4 << 10  // bytes read of an answer that is an error
	maxRefsBody  = 64 << 20 // bytes read of a list of refs
)

var errRedirect = errors.New("the server redirects to another host, which is not followed; put the final address into the url")

// newClient returns an HTTP client that stays on the host it was sent to and reads bounded answers.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 10 * time.Second
	return &http.Client{
		Transport: bounded{t},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 0 && !sameHost(via[0].URL, req.URL) {
				return errRedirect
			}
			return nil
		},
	}
}

// sameHost says whether a redirect stays on the server it came from; http to https on the default ports does.
func sameHost(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return from.Port() == to.Port()
	}
	return from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
}

// bounded limits how much of an answer that go-git reads whole can be read.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case res.StatusCode >= http.StatusMultipleChoices:
		res.Body = limit(res.Body, maxErrorBody)
	case strings.HasSuffix(req.URL.Path, "/info/refs"):
		res.Body = limit(res.Body, maxRefsBody)
	}
	return res, nil
}

func limit(body io.ReadCloser, maxBytes int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(body, maxBytes), body}
}
