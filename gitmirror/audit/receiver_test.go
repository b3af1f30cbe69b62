package audit

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

// batch is an EventList of one patch by each of the users, of versions 1, 2 and so on of the object u1.
func batch(users ...string) string {
	var events []string
	for i, user := range users {
		events = append(events, fmt.Sprintf(`{"auditID":"a%d","stage":"ResponseComplete","verb":"patch","requestURI":"/x",
			"user":{"username":%q},"responseStatus":{"code":200},
			"responseObject":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"u1","resourceVersion":"%d"}}}`, i, user, i+1))
	}
	return `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[` + strings.Join(events, ",") + `]}`
}

func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

func newReceiver() *Receiver {
	return &Receiver{Index: NewIndex(1000, time.Hour), Metrics: NewMetrics(), Now: func() time.Time { return noon }}
}

func post(r *Receiver, body io.Reader, header ...string) int {
	req := httptest.NewRequest(http.MethodPost, "/", body)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w.Code
}

func TestReceiverAnswers200OnlyWhenTheFactsAreKept(t *testing.T) {
	for _, row := range []struct {
		says string
		body string
		code int
		kept bool
	}{
		{"a batch is kept", batch("alice"), 200, true},
		{"an empty batch is fine", batch(), 200, false},
		{"what is no JSON is refused", `{"kind"`, 400, false},
		{"what is no EventList is refused", `{"kind":"Status","apiVersion":"v1"}`, 400, false},
		{"a batch beyond the bound is refused", strings.Repeat(" ", maxBatchBytes) + batch("alice"), 413, false},
	} {
		t.Run(row.says, func(t *testing.T) {
			for _, kind := range []string{"with its length", "in chunks"} {
				r := newReceiver()
				var body io.Reader = strings.NewReader(row.body)
				if kind == "in chunks" {
					body = io.MultiReader(body) // hides the length
				}
				if got := post(r, body); got != row.code {
					t.Errorf("%s: %d, want %d", kind, got, row.code)
				}
				if r.flight.Load() != 0 {
					t.Errorf("%s: %d bytes stay accounted for", kind, r.flight.Load())
				}
				if _, kept := r.Index.Lookup(fact.Key{UID: "u1", ResourceVersion: "1"}); kept != row.kept {
					t.Errorf("%s: kept: %v", kind, kept)
				}
			}
		})
	}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	w := httptest.NewRecorder()
	newReceiver().ServeHTTP(w, req)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a GET is answered with %d", w.Code)
	}
}

func TestReceiverRefusesWithA503WhatDoesNotFit(t *testing.T) { // B31, B32
	r := newReceiver()
	var bodies []*io.PipeWriter
	codes := make(chan int)
	for range maxFlightBytes / maxBatchBytes {
		body, feed := io.Pipe()
		bodies = append(bodies, feed)
		go func() { codes <- post(r, body) }()
		if _, err := io.WriteString(feed, " "); err != nil { // returns once the receiver reads
			t.Fatal(err)
		}
	}
	began := time.Now()
	if got := post(r, strings.NewReader(batch("alice"))); got != 503 {
		t.Errorf("one batch too many is answered with %d", got)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("the refusal took %v", took)
	}
	if got := counted(t, r.Metrics.batches.WithLabelValues("503")); got != 1 {
		t.Errorf("%v refusals are counted", got)
	}
	for _, feed := range bodies {
		go func() {
			_, _ = io.WriteString(feed, batch("bob"))
			_ = feed.Close()
		}()
	}
	for range bodies {
		if got := <-codes; got != 200 {
			t.Errorf("a slow batch is answered with %d", got)
		}
	}
	if got := post(r, strings.NewReader(batch("alice"))); got != 200 {
		t.Errorf("with room again the batch is answered with %d", got)
	}
}

func TestReceiverCountsABatchSentAgain(t *testing.T) { // B31
	r := newReceiver()
	for range 2 {
		if got := post(r, strings.NewReader(batch("alice", "bob"))); got != 200 {
			t.Fatalf("answered with %d", got)
		}
	}
	if got := counted(t, r.Metrics.repeated); got != 2 || r.Index.facts.Len() != 2 {
		t.Errorf("%v events are counted as repeated, %d facts are kept", got, r.Index.facts.Len())
	}
	if got := counted(t, r.Metrics.events.WithLabelValues(string(fact.Proves))); got != 4 {
		t.Errorf("%v events are counted", got)
	}
}

func TestReceiverAsksForTheBearerTokenOfItsFile(t *testing.T) {
	r := newReceiver()
	r.TokenFile = filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(r.TokenFile, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try := func(says string, want int, header ...string) {
		t.Helper()
		if got := post(r, strings.NewReader(batch("alice")), header...); got != want {
			t.Errorf("%s: %d, want %d", says, got, want)
		}
	}
	try("a missing file admits nobody", 401, "Authorization", "Bearer ")
	write(" \n")
	try("an empty file admits nobody", 401, "Authorization", "Bearer ")
	write("s3cret\n")
	try("the token is admitted", 200, "Authorization", "Bearer s3cret")
	try("another is not", 401, "Authorization", "Bearer s3cret2")
	try("none is not", 401)
	write("n3w")
	try("a new token counts at once", 200, "Authorization", "Bearer n3w")
	try("and the old one no longer", 401, "Authorization", "Bearer s3cret")
}

func FuzzReceiverAnswersWhateverItIsSent(f *testing.F) {
	f.Add([]byte(batch("alice", "bob")))
	f.Add([]byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[null,7,{"responseObject":[]}]}`))
	f.Add(bytes.Repeat([]byte(`[`), 100_000))
	r := newReceiver()
	f.Fuzz(func(t *testing.T, body []byte) {
		code := post(r, bytes.NewReader(body))
		if code != 200 && code != 400 {
			t.Errorf("answered with %d", code)
		}
		if r.flight.Load() != 0 || r.Index.facts.Len() > 1000 {
			t.Errorf("%d bytes in flight, %d facts", r.flight.Load(), r.Index.facts.Len())
		}
	})
}

func BenchmarkReceiverTakesABatchOf100(b *testing.B) {
	filler := strings.Repeat(`"k":"0123456789",`, 100)
	body := strings.ReplaceAll(batch(make([]string, 100)...), `"metadata":{`, `"data":{`+filler+`"z":""},"metadata":{`)
	body = strings.ReplaceAll(body, `"username":""`, `"username":"alice"`)
	r := newReceiver()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if code := post(r, strings.NewReader(body)); code != 200 {
			b.Fatal(code)
		}
	}
}
