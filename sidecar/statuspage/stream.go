package statuspage

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// maxStreams bounds the pages that are told of changes at one time.
	maxStreams = 16

	// beat is how often a stream says something although nothing changed. assets/status.js gives up after three.
	beat = 10 * time.Second

	// look is how often leadership is compared, of which nobody tells.
	look = time.Second

	// calm is the least time from one change to the next, so that a burst comes as one.
	calm = 250 * time.Millisecond

	// writeTimeout ends a stream whose reader does not read.
	writeTimeout = 5 * time.Second
)

// events tells an open page of changes, as Server-Sent Events, until it is closed or the holder stops. The query's `have` is
// the version the page shows. Events: change (see change.go), beat with the time in `at`, and full in place of both when
// there are too many streams already.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	if elsewhere(r) {
		http.Error(w, "Only the status page itself is told of changes.", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	s := stream{w: w, to: http.NewResponseController(w)}
	switch {
	case r.Method == http.MethodHead:
		return
	case !p.enter():
		_ = s.send("full", []byte("{}"))
		return
	}
	defer p.leave()
	if err := p.tell(r, s); err != nil && r.Context().Err() == nil {
		log.FromContext(p.ctx).V(1).Info("a status page is told of no more changes", "reason", err.Error())
	}
}

// tell sends changes until somebody stops it; nil is the page or the holder that ended.
func (p *Page) tell(r *http.Request, s stream) error {
	ctx, have := r.Context(), r.URL.Query().Get("have")
	beats := time.NewTicker(beat)
	defer beats.Stop()
	looks := time.NewTicker(look)
	defer looks.Stop()
	for first := true; ; first = false {
		next := p.next()
		board, err := p.current(ctx)
		if err != nil {
			return err // the page comes back by itself
		}
		text, err := board.Since(have)
		if err != nil {
			return err
		}
		if text != nil {
			have = board.Version
			err = s.send("change", text)
		}
		if err == nil && (text != nil || first) {
			err = s.beat(p.now())
		}
		if err != nil {
			return err
		}
		if done, err := p.wait(r, s, next, beats.C, looks.C, board.Leadership); done || err != nil {
			return err
		}
	}
}

// wait returns when the board may be another one, or true when nobody is there any more.
func (p *Page) wait(r *http.Request, s stream, next <-chan struct{}, beats, looks <-chan time.Time, was Leadership) (bool, error) {
	for {
		select {
		case <-r.Context().Done():
			return true, nil
		case <-p.ctx.Done():
			return true, nil
		case <-beats:
			if err := s.beat(p.now()); err != nil {
				return false, err
			}
		case <-looks:
			if p.leadership() != was {
				return false, nil
			}
		case <-next:
			return p.calmed(r), nil
		}
	}
}

// calmed lets what else changes come along, and returns true when nobody is there any more.
func (p *Page) calmed(r *http.Request) (gone bool) {
	rest := time.NewTimer(calm)
	defer rest.Stop()
	select {
	case <-rest.C:
		return false
	case <-r.Context().Done():
	case <-p.ctx.Done():
	}
	return true
}

// stream writes Server-Sent Events.
type stream struct {
	w  http.ResponseWriter
	to *http.ResponseController
}

func (s stream) beat(now time.Time) error {
	return s.send("beat", fmt.Appendf(nil, `{"at":%q}`, now.UTC().Format("2006-01-02T15:04:05.000Z")))
}

// send writes one event whose data is one line.
func (s stream) send(name string, data []byte) error {
	if err := s.to.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("bound the write to a status page: %w", err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, data); err != nil {
		return fmt.Errorf("write to a status page: %w", err)
	}
	if err := s.to.Flush(); err != nil {
		return fmt.Errorf("write to a status page: %w", err)
	}
	return nil
}
