package audit

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

// Bounds of a Receiver in bytes: of one batch, and of all batches being read at one moment.
const (
	maxBatchBytes  = 8 << 20
	maxFlightBytes = 64 << 20
)

// Receiver answers the POSTs of an API server's audit webhook.
//
//	200  the facts of the batch are in the index
//	400  not an EventList of audit.k8s.io/v1
//	401  the bearer token is wrong
//	405  not a POST
//	413  larger than 8 MiB; set --audit-webhook-truncate-enabled on the API server
//	503  too many batches at once; the API server sends it again
type Receiver struct {
	// Index takes the facts. Required.
	Index *Index

	// TokenFile holds the bearer token a request must carry; it is read for each request, so it can be replaced. Empty:
	// the client certificate suffices.
	TokenFile string

	// Metrics counts batches and events. Required.
	Metrics *Metrics

	// Log is told of batches that cannot be read, never of what is in one.
	Log logr.Logger

	// Now returns the time; nil: time.Now.
	Now func() time.Time

	flight atomic.Int64
}

// ServeHTTP answers one batch.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	code, err := r.receive(w, req)
	r.Metrics.batches.WithLabelValues(fmt.Sprint(code)).Inc()
	if err != nil {
		r.Log.V(1).Info("audit batch refused", "code", code, "reason", err.Error())
		http.Error(w, err.Error(), code)
		return
	}
	w.WriteHeader(code)
}

// receive returns the status to answer with; an error goes with each one but 200.
func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) (int, error) {
	if req.Method != http.MethodPost {
		return http.StatusMethodNotAllowed, errors.New("audit events are POSTed")
	}
	if err := r.authorize(req); err != nil {
		return http.StatusUnauthorized, err
	}
	size := req.ContentLength
	if size > maxBatchBytes {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("batch of %d bytes is larger than %d", size, maxBatchBytes)
	}
	if size < 0 {
		size = maxBatchBytes
	}
	defer r.flight.Add(-size)
	if r.flight.Add(size) > maxFlightBytes {
		return http.StatusServiceUnavailable, errors.New("too many batches at once, send this one again")
	}
	var body bytes.Buffer
	if req.ContentLength > 0 {
		body.Grow(int(size) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(http.MaxBytesReader(w, req.Body, maxBatchBytes)); err != nil {
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			return http.StatusRequestEntityTooLarge, fmt.Errorf("batch is larger than %d bytes", maxBatchBytes)
		}
		return http.StatusBadRequest, fmt.Errorf("read batch: %w", err)
	}
	readings, err := fact.Decode(body.Bytes())
	if err != nil {
		return http.StatusBadRequest, err
	}
	r.count(readings, r.Index.Add(readings, r.now()))
	return http.StatusOK, nil
}

// authorize compares the bearer token. The messages say which side to look at and nothing of either token.
func (r *Receiver) authorize(req *http.Request) error {
	if r.TokenFile == "" {
		return nil
	}
	want, err := readToken(r.TokenFile)
	if err != nil {
		return err
	}
	got, ok := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(got), want) != 1 {
		return errors.New("the request does not carry the bearer token of the audit receiver")
	}
	return nil
}

// readToken returns the token in a file without the blanks around it. An empty one is an error: it would admit anybody.
func readToken(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the bearer token of the audit receiver: %w", err)
	}
	defer f.Close()
	token, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the bearer token of the audit receiver: %w", err)
	}
	token = bytes.TrimSpace(token)
	if len(token) == 0 {
		return nil, errors.New("read the bearer token of the audit receiver: the file is empty")
	}
	return token, nil
}

func (r *Receiver) count(readings []fact.Reading, repeated int) {
	for _, reading := range readings {
		r.Metrics.events.WithLabelValues(string(reading.Outcome)).Inc()
	}
	r.Metrics.repeated.Add(float64(repeated))
}

func (r *Receiver) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now().UTC()
}
