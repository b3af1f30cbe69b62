package statuspage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// shelf is a cache that counts how often it is read.
type shelf struct {
	client.Reader
	mu    sync.Mutex
	items []v1alpha1.FluxTrigger
	err   error
	reads atomic.Int32
}

func (s *shelf) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	s.reads.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	into.(*v1alpha1.FluxTriggerList).Items = append([]v1alpha1.FluxTrigger(nil), s.items...)
	return s.err
}

// put changes the trigger of that name and tells page.
func (s *shelf) put(p *Page, name, version string) {
	s.mu.Lock()
	f := trigger("team", name)
	f.ResourceVersion = version
	f.Status.Holder = "version-" + version
	kept := s.items[:0:0]
	for _, old := range s.items {
		if old.Name != name {
			kept = append(kept, old)
		}
	}
	s.items = append(kept, f)
	s.mu.Unlock()
	p.Changed()
}

// reader is who holds a stream open: it keeps what it was sent, with the instant.
type reader struct {
	mu     sync.Mutex
	header http.Header
	events []string // "<seconds since the test began> <event>"
	begin  time.Time
	broken error
}

func (r *reader) Header() http.Header { return r.header }
func (r *reader) WriteHeader(int)     {}
func (r *reader) Flush()              {}
func (r *reader) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, _, _ := strings.Cut(strings.TrimPrefix(string(b), "event: "), "\n")
	r.events = append(r.events, fmt.Sprintf("%.2f %s", time.Since(r.begin).Seconds(), name))
	return len(b), r.broken
}

func (r *reader) seen() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.events, ", ")
}

// stagehand is a page with whoever reads its streams.
type stagehand struct {
	*Page
	shelf  *shelf
	leads  atomic.Bool
	begin  time.Time
	stop   context.CancelFunc
	reader sync.WaitGroup
	lines  context.Context // of everybody who reads
	hangUp context.CancelFunc
}

func onStage(t *testing.T) *stagehand {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &stagehand{shelf: &shelf{items: []v1alpha1.FluxTrigger{trigger("team", "app")}}, begin: time.Now(), stop: stop}
	s.lines, s.hangUp = context.WithCancel(t.Context())
	s.Page = New(ctx, s.shelf, func() Leadership { return Leadership{Leads: s.leads.Load()} }, time.Now)
	return s
}

// open starts a stream for a page of version have; close ends it as a browser would.
func (s *stagehand) open(t *testing.T, have string) (r *reader, close context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(s.lines)
	r = &reader{header: http.Header{}, begin: s.begin}
	req := httptest.NewRequest(http.MethodGet, "/status/events?have="+have, nil).WithContext(ctx)
	req.RemoteAddr, req.Host = "127.0.0.1:1", "localhost"
	h := s.Handler()
	s.reader.Go(func() { h.ServeHTTP(r, req) })
	synctest.Wait()
	return r, cancel
}

// end stops the holder and waits for every stream.
func (s *stagehand) end(t *testing.T) {
	t.Helper()
	s.stop()
	gone := make(chan struct{})
	go func() { s.reader.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(time.Hour):
		t.Error("a stream goes on although the holder stopped")
		s.hangUp()
		<-gone
	}
}

func TestAPageIsToldOfAChangeAtOnceAndOfABurstOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		r, _ := s.open(t, "")
		time.Sleep(time.Second / 2)
		for i := range 100 {
			s.shelf.put(s.Page, "app", fmt.Sprint(i))
		}
		time.Sleep(3 * time.Second)
		if want := "0.00 change, 0.00 beat, 0.75 change, 0.75 beat"; r.seen() != want {
			t.Errorf("got  %s\nwant %s", r.seen(), want)
		}
		if n := s.shelf.reads.Load(); n != 2 {
			t.Errorf("the cache was read %d times for one page and one burst", n)
		}
		s.end(t)
	})
}

func TestAStreamThatHasNothingToSayBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		board, err := s.current(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, _ := s.open(t, board.Version)
		time.Sleep(25 * time.Second)
		if want := "0.00 beat, 10.00 beat, 20.00 beat"; r.seen() != want {
			t.Errorf("got  %s\nwant %s", r.seen(), want)
		}
		if n := s.shelf.reads.Load(); n != 1 {
			t.Errorf("the cache was read %d times although nothing changed", n)
		}
		s.end(t)
	})
}

func TestAllWhoLookShareOneDrawing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		var all []*reader
		for range maxStreams {
			r, _ := s.open(t, "")
			all = append(all, r)
		}
		s.shelf.put(s.Page, "app", "7")
		time.Sleep(time.Second)
		for i, r := range all {
			if !strings.HasSuffix(r.seen(), "0.25 change, 0.25 beat") {
				t.Errorf("page %d got %s", i, r.seen())
			}
		}
		if n := s.shelf.reads.Load(); n != 2 {
			t.Errorf("the cache was read %d times for %d pages and one change", n, maxStreams)
		}
		s.end(t)
	})
}

func TestWhenNobodyLooksNothingIsDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		_, leave := s.open(t, "")
		leave()
		synctest.Wait()
		before := s.shelf.reads.Load()
		for i := range 1000 {
			s.shelf.put(s.Page, "app", fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		if n := s.shelf.reads.Load() - before; n != 0 || s.board != nil {
			t.Errorf("the cache was read %d times, and a board is kept: %t", n, s.board != nil)
		}
		s.end(t)
	})
}

func TestAChangeOfLeadershipIsSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		r, _ := s.open(t, "")
		time.Sleep(3500 * time.Millisecond)
		s.leads.Store(true)
		time.Sleep(2 * time.Second)
		if want := "0.00 change, 0.00 beat, 4.00 change, 4.00 beat"; r.seen() != want {
			t.Errorf("got  %s\nwant %s", r.seen(), want)
		}
		s.end(t)
	})
}

func TestOnePageTooManyIsToldSoAndLetInLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		var leave context.CancelFunc
		for range maxStreams {
			_, leave = s.open(t, "")
		}
		if r, _ := s.open(t, ""); r.seen() != "0.00 full" {
			t.Errorf("one too many got %s", r.seen())
		}
		leave()
		synctest.Wait()
		if r, _ := s.open(t, ""); !strings.HasPrefix(r.seen(), "0.00 change") {
			t.Errorf("after one left, the next got %s", r.seen())
		}
		s.end(t)
	})
}

func TestEveryStreamEndsWhenTheHolderStops(t *testing.T) {
	for name, before := range map[string]func(*stagehand){
		"while nothing happens": func(*stagehand) {},
		"right after a change":  func(s *stagehand) { s.shelf.put(s.Page, "app", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := onStage(t)
				for range 5 {
					s.open(t, "")
				}
				before(s)
				synctest.Wait()
				begin := time.Now()
				s.end(t)
				if took := time.Since(begin); took != 0 || s.streams != 0 {
					t.Errorf("it took %s, and %d streams are counted", took, s.streams)
				}
			})
		})
	}
}

func TestAReaderThatWentAwayEndsItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		r, _ := s.open(t, "")
		r.mu.Lock()
		r.broken = errors.New("broken pipe")
		r.mu.Unlock()
		time.Sleep(11 * time.Second) // until the next beat
		synctest.Wait()
		if s.streams != 0 {
			t.Error("the stream goes on")
		}
		s.end(t)
	})
}

func TestACacheThatFailsEndsTheStreamAndIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := onStage(t)
		s.shelf.err = errors.New("not synced")
		if r, _ := s.open(t, ""); r.seen() != "" || s.streams != 0 {
			t.Errorf("got %q, and %d streams are open", r.seen(), s.streams)
		}
		s.shelf.err = nil
		if r, _ := s.open(t, ""); !strings.HasPrefix(r.seen(), "0.00 change") {
			t.Errorf("got %q", r.seen())
		}
		s.end(t)
	})
}

func TestAPageOfAnotherSiteHoldsNoStreamOpen(t *testing.T) {
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 200, "none": 200, "": 200} {
		r := httptest.NewRequest(http.MethodHead, "/status/events", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1", "localhost"
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		handler(t).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: got %d, want %d", site, w.Code, want)
		}
	}
}

// A real server, as the stories above have none.
func TestARealStreamComesAsServerSentEvents(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	p := New(ctx, &shelf{items: []v1alpha1.FluxTrigger{trigger("team", "app")}}, func() Leadership { return Leadership{} }, time.Now)
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/status/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s", kind)
	}
	stop()
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	if text := b.String(); !strings.HasPrefix(text, "event: change\ndata: {\"version\":") || !strings.Contains(text, "\n\nevent: beat\ndata: {\"at\":\"") || !strings.HasSuffix(text, "\n\n") {
		t.Errorf("got %s", text)
	}
}
