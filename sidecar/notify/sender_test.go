package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// soon bounds every wait of these tests.
const soon = 10 * time.Second

// desk is a sender, the endpoint it posts to, and what both were told.
type desk struct {
	t      *testing.T
	s      *Sender
	server *httptest.Server

	mu       sync.Mutex
	got      []eventv1.Event
	outcomes []Outcome
	logged   []string
	news     chan struct{} // one for each outcome
}

// newDesk answers the nth attempt, from 0, with answer.
func newDesk(t *testing.T, o Options, answer func(n int, w http.ResponseWriter, r *http.Request)) *desk {
	t.Helper()
	d := &desk{t: t, news: make(chan struct{}, 1000)}
	n := 0
	d.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e eventv1.Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		d.mu.Lock()
		d.got = append(d.got, e)
		nth := n
		n++
		d.mu.Unlock()
		answer(nth, w, r)
	}))
	if o.Address == "" {
		o.Address = d.server.URL + "/"
	}
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	o.Instance = "pod-1"
	o.Log = d.log()
	o.Count = func(o Outcome) {
		d.mu.Lock()
		d.outcomes = append(d.outcomes, o)
		d.mu.Unlock()
		d.news <- struct{}{}
	}
	var err error
	if d.s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		d.s.Close(now)
		d.server.Close()
	})
	return d
}

func (d *desk) log() logr.Logger {
	return funcr.New(func(_, args string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.logged = append(d.logged, args)
	}, funcr.Options{})
}

// settled waits until n events have an outcome, and returns all outcomes.
func (d *desk) settled(n int) []Outcome {
	d.t.Helper()
	deadline := time.After(soon)
	for range n {
		select {
		case <-d.news:
		case <-deadline:
			d.t.Fatalf("of %d events only these have an outcome: %v", n, d.outcomes)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Outcome(nil), d.outcomes...)
}

func (d *desk) attempts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.got)
}

// logs returns how many lines hold text.
func (d *desk) logs(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, l := range d.logged {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

func status(codes ...int) func(int, http.ResponseWriter, *http.Request) {
	return func(n int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(codes[min(n, len(codes)-1)]) }
}

func applied(message string) eventv1.Event {
	return eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: "kustomize.toolkit.fluxcd.io/v1", Kind: "Kustomization", Namespace: "team", Name: "app"},
		Severity:       eventv1.EventSeverityInfo,
		Timestamp:      metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)),
		Reason:         "Applied",
		Message:        message,
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for name, row := range map[string]struct {
		answers  []int
		want     Outcome
		attempts int
	}{
		"202 is what notification-controller answers":       {[]int{202}, Delivered, 1},
		"429 says that it had this event, and is no loss":   {[]int{429}, Duplicate, 1},
		"400 will not get better by sending it again":       {[]int{400}, Refused, 1},
		"a redirect is not followed":                        {[]int{307}, Refused, 1},
		"500 is tried again until it passes":                {[]int{500, 503, 202}, Delivered, 3},
		"500 for ever ends with the attempts":               {[]int{500}, Failed, 4},
		"429 after an answer that was lost is no loss":      {[]int{502, 429}, Duplicate, 2},
		"400 after a 500 ends it":                           {[]int{500, 400, 202}, Refused, 2},
		"any answer of the 200s is taken for a delivered":   {[]int{200}, Delivered, 1},
		"404 is another program at that address, so refuse": {[]int{404}, Refused, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Options{}, func(n int, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				status(row.answers...)(n, w, r)
			})
			d.s.Post(applied("commit 1"))
			if diff := cmp.Diff([]Outcome{row.want}, d.settled(1)); diff != "" {
				t.Error(diff)
			}
			if d.attempts() != row.attempts {
				t.Errorf("%d attempts, want %d", d.attempts(), row.attempts)
			}
		})
	}
}

func TestTheEventArrivesAsItWasPostedWithWhoItIsBy(t *testing.T) {
	d := newDesk(t, Options{}, status(202))
	e := applied("commit 1")
	e.Metadata = map[string]string{"kustomize.toolkit.fluxcd.io/revision": "main@sha1:1"}
	d.s.Post(e)
	d.settled(1)
	want := e
	want.ReportingController, want.ReportingInstance = "holdfast-holder", "pod-1"
	if diff := cmp.Diff([]eventv1.Event{want}, d.got); diff != "" {
		t.Error(diff)
	}
}

func TestEventsArriveInOrder(t *testing.T) {
	d := newDesk(t, Options{}, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 0 {
			w.WriteHeader(503) // the first is sent again, and stays the first
		}
	})
	for _, m := range []string{"1", "2", "3"} {
		d.s.Post(applied(m))
	}
	d.settled(3)
	var got []string
	for _, e := range d.got {
		got = append(got, e.Message)
	}
	if diff := cmp.Diff([]string{"1", "1", "2", "3"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnEndpointThatIsDownLosesTheEventAndNobodyWaits(t *testing.T) {
	d := newDesk(t, Options{}, status(202))
	d.server.Close()
	began := time.Now()
	d.s.Post(applied("commit 1"))
	if took := time.Since(began); took > time.Second {
		t.Errorf("Post took %s", took)
	}
	if diff := cmp.Diff([]Outcome{Failed}, d.settled(1)); diff != "" {
		t.Error(diff)
	}
}

func TestAnEndpointThatNeverAnswersHoldsUpNobodyAndAFullQueueDrops(t *testing.T) {
	reached, release := make(chan struct{}, 10), make(chan struct{})
	d := newDesk(t, Options{Queue: 2}, func(_ int, _ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	d.s.Post(applied("being sent"))
	<-reached // the worker has it, so the queue is empty
	for _, m := range []string{"waits", "waits too", "dropped", "dropped too"} {
		d.s.Post(applied(m))
	}
	if diff := cmp.Diff([]Outcome{QueueFull, QueueFull}, d.settled(2)); diff != "" {
		t.Error(diff)
	}
	if d.logs("not delivered") != 1 {
		t.Errorf("the loss was logged %d times, want once", d.logs("not delivered"))
	}
}

func TestAnAttemptIsBounded(t *testing.T) {
	d := newDesk(t, Options{Timeout: 50 * time.Millisecond}, func(n int, _ http.ResponseWriter, r *http.Request) {
		if n == 0 {
			<-r.Context().Done() // until the client gives up
		}
	})
	d.s.Post(applied("commit 1"))
	if diff := cmp.Diff([]Outcome{Delivered}, d.settled(1)); diff != "" {
		t.Error(diff)
	}
	if d.attempts() != 2 {
		t.Errorf("%d attempts, want the slow one and another", d.attempts())
	}
}

func TestARunOfFailuresIsLoggedOnceAndItsEndWithHowManyWereLost(t *testing.T) {
	down := true
	var mu sync.Mutex
	d := newDesk(t, Options{Attempts: 1}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if down {
			w.WriteHeader(500)
		}
	})
	for range 3 {
		d.s.Post(applied("lost"))
	}
	d.settled(3)
	mu.Lock()
	down = false
	mu.Unlock()
	for range 2 {
		d.s.Post(applied("taken"))
	}
	d.settled(2)
	if d.logs("not delivered") != 1 || d.logs("delivered again") != 1 || d.logs(`"lost"=3`) != 1 {
		t.Errorf("logged: %q", d.logged)
	}
}
