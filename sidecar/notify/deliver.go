package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
)

// What is read of an answer at most. Nobody looks at it; a short one lets the connection be used again.
const (
	maxHeaderBytes = 16 << 10
	maxAnswerBytes = 4 << 10
)

// newClient returns a client that sends to the address it is given and nowhere else: a redirect is an answer like another.
func newClient(timeout time.Duration) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = maxHeaderBytes
	return &http.Client{
		Transport:     t,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// work sends what is queued until the queue is closed and empty.
func (s *Sender) work() {
	defer close(s.idle)
	defer s.client.CloseIdleConnections()
	for e := range s.queue {
		s.note(s.deliver(e))
	}
}

// deliver sends e until it is answered for good, the attempts are used up, or the sender is closed.
func (s *Sender) deliver(e eventv1.Event) (Outcome, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return Refused, fmt.Errorf("write event %s as JSON: %w", e.Reason, err)
	}
	wait := s.Backoff
	for n := 1; ; n++ {
		if s.ctx.Err() != nil {
			return Stopped, nil
		}
		o, again, err := s.send(body)
		switch {
		case s.ctx.Err() != nil && o.lost():
			return Stopped, nil
		case !again || n == s.Attempts:
			return o, err
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// send makes one attempt. Its error names the host at most: the rest of the address and what was answered stay out of logs.
func (s *Sender) send(body []byte) (o Outcome, again bool, err error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.Address, bytes.NewReader(body))
	if err != nil {
		return Refused, false, errors.New("the events address is no URL")
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err
		}
		return Failed, true, fmt.Errorf("post to the events address: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswerBytes)
	o, again = judge(resp.StatusCode)
	if o.lost() {
		err = fmt.Errorf("post to the events address: answered with HTTP status %d", resp.StatusCode)
	}
	return o, again, err
}
