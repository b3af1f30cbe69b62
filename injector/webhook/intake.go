package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The bounds of what is taken in. An API server shows no credentials to a webhook unless it is configured to, so whoever
// reaches the port may be somebody else.
const (
	maxBodyBytes = 4 << 20 // an API server takes 3 MiB of a client, and stores less than half of that
	maxCommas    = 50_000  // a byte of JSON can become hundreds in memory, and each value but the first has a comma before it
	bytesEach    = 16 << 20
	bytesLeast   = 16 << 10 // what a body counts for at least, so that their number is bounded too
	readWithin   = 3 * time.Second
)

// review is what counts of an AdmissionReview. Whatever else is in one takes no memory.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *call `json:"request"`
}

type call struct {
	UID         types.UID                   `json:"uid"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	SubResource string                      `json:"subResource"`
	Name        string                      `json:"name"`
	Namespace   string                      `json:"namespace"`
	Operation   admissionv1.Operation       `json:"operation"`
	Object      runtime.RawExtension        `json:"object"`
	DryRun      *bool                       `json:"dryRun"`
}

// intake bounds the bytes that each address has under way. One that is slow, or sends much, waits for itself.
type intake struct {
	mu   sync.Mutex
	from map[string]*share
}

type share struct {
	bytes *semaphore.Weighted
	users int
}

// take reserves n bytes for an address, as soon as it may have them, until the returned function is called.
func (in *intake) take(ctx context.Context, address string, n int64) (back func(), err error) {
	in.mu.Lock()
	s := in.from[address]
	if s == nil {
		s = &share{bytes: semaphore.NewWeighted(bytesEach)}
		in.from[address] = s
	}
	s.users++
	in.mu.Unlock()
	leave := func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(in.from, address)
		}
	}
	if err := s.bytes.Acquire(ctx, n); err != nil {
		leave()
		return nil, err
	}
	return func() { s.bytes.Release(n); leave() }, nil
}

// body returns a bounded body, read within a bounded time, and the status of an answer where it cannot be had.
func body(w http.ResponseWriter, r *http.Request) ([]byte, int, error) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("%s is not how an AdmissionReview is sent", r.Method)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)) // a test's recorder has none
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("read the body: %w", err)
	case bytes.Count(text, []byte(",")) > maxCommas:
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d values", maxCommas)
	}
	return text, http.StatusOK, nil
}

// read understands one AdmissionReview.
func read(text []byte) (*call, error) {
	var in review
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, errors.New("the body is no AdmissionReview in JSON") // the cause may quote the pod
	}
	if in.APIVersion != admissionv1.SchemeGroupVersion.String() || in.Kind != "AdmissionReview" || in.Request == nil {
		return nil, fmt.Errorf("the body is no request of %s", admissionv1.SchemeGroupVersion)
	}
	return in.Request, nil
}

// weight is what a call counts for against its address, and that address without its port.
func weight(r *http.Request) (address string, n int64) {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		address = r.RemoteAddr
	}
	if r.ContentLength < 0 {
		return address, maxBodyBytes
	}
	return address, min(max(r.ContentLength, bytesLeast), maxBodyBytes)
}
