package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
)

func TestAnAddressWithMuchUnderWayWaitsForItself(t *testing.T) {
	in := intake{from: map[string]*share{}}
	var taken []func()
	for range bytesEach / maxBodyBytes {
		back, err := in.take(t.Context(), "10.0.0.9", maxBodyBytes)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, back)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := in.take(gone, "10.0.0.9", bytesLeast); !errors.Is(err, context.Canceled) {
		t.Errorf("one more of the same address gets %v", err)
	}
	back, err := in.take(t.Context(), "10.0.0.1", maxBodyBytes)
	if err != nil {
		t.Fatalf("another address: %v", err)
	}
	for _, back := range append(taken, back) {
		back()
	}
	if len(in.from) > 0 {
		t.Errorf("%d addresses are remembered that have nothing under way", len(in.from))
	}
	if back, err = in.take(t.Context(), "10.0.0.9", maxBodyBytes); err != nil {
		t.Fatalf("what was given back cannot be had again: %v", err)
	}
	back()
}

func TestABodyCountsForWhatItsHeaderSays(t *testing.T) {
	for _, row := range []struct {
		says      string
		remote    string
		length    int64
		address   string
		countsFor int64
	}{
		{"nothing still is a call", "10.0.0.9:4711", 0, "10.0.0.9", bytesLeast},
		{"a pod", "10.0.0.9:4711", 100_000, "10.0.0.9", 100_000},
		{"more than is taken", "[fd00::9]:4711", 1 << 40, "fd00::9", maxBodyBytes},
		{"a length that is not said", "10.0.0.9:4711", -1, "10.0.0.9", maxBodyBytes},
		{"an address of no kind", "@", 100_000, "@", 100_000},
	} {
		r := httptest.NewRequest(http.MethodPost, Path, nil)
		r.RemoteAddr, r.ContentLength = row.remote, row.length
		if address, n := weight(r); address != row.address || n != row.countsFor {
			t.Errorf("%s: %s counts for %d, want %s, %d", row.says, address, n, row.address, row.countsFor)
		}
	}
}

// The bodies are begun and not ended while the answer is awaited.
func TestWhoeverIsSlowToSendIsNotWaitedFor(t *testing.T) {
	b := newBench(t, policyOfTests)
	b.log = logr.Discard() // several end at once
	var ends []io.Closer
	defer func() { // before what waits for them
		for _, end := range ends {
			end.Close()
		}
	}()
	for range maxCalls + 1 {
		sent, send := io.Pipe()
		r := httptest.NewRequest(http.MethodPost, Path, sent)
		r.RemoteAddr, r.ContentLength = "10.0.0.9:4711", 100
		over := make(chan struct{})
		go func() {
			defer close(over)
			b.ServeHTTP(httptest.NewRecorder(), r)
		}()
		t.Cleanup(func() { <-over })
		ends = append(ends, send)
		begun := make(chan error, 1)
		go func() {
			_, err := send.Write([]byte("{"))
			begun <- err
		}()
		select {
		case err := <-begun: // it has been read now
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the body is not read")
		}
	}
	answered := make(chan int, 1)
	go func() {
		_, got := b.post(t, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","namespace":"flux-system",`+
			`"operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":`+fluxPod+`}}`)
		answered <- len(got.Patch)
	}()
	select {
	case n := <-answered:
		if n == 0 {
			t.Error("the pod gets no holder")
		}
	case <-time.After(10 * time.Second):
		t.Error("there is no answer")
	}
}

func TestWhatNobodyAsksForTakesNoMemory(t *testing.T) {
	text := []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1","userInfo":{"groups":[""` +
		strings.Repeat(`,""`, maxCommas/2) + `]},"oldObject":[0` + strings.Repeat(",0", maxCommas/4) + `]}}`)
	if n := testing.AllocsPerRun(3, func() {
		if _, err := read(text); err != nil {
			t.Fatal(err)
		}
	}); n > 200 {
		t.Errorf("%v allocations", n)
	}
}
