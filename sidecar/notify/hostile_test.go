package notify

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// raw answers every connection with bytes of its own.
func raw(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					answer(c)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

func TestAHostileAnswerCostsNoMoreThanTheEvent(t *testing.T) {
	for name, row := range map[string]struct {
		answer func(net.Conn)
		want   Outcome
	}{
		"no HTTP at all":           {func(c net.Conn) { _, _ = io.WriteString(c, "hello\r\n\r\n") }, Failed},
		"a connection cut at once": {func(net.Conn) {}, Failed},
		"a header without end":     {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 202 OK\r\nX: "+strings.Repeat("x", 1<<20)) }, Failed},
		"a body without end":       {endless, Delivered},
		"a body that is announced and never comes": {func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 202 OK\r\nContent-Length: 1000000\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}, Delivered},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, Options{Address: raw(t, row.answer), Timeout: 200 * time.Millisecond}, status(202))
			d.s.Post(applied("commit 1"))
			if diff := cmp.Diff([]Outcome{row.want}, d.settled(1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func endless(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 202 OK\r\nContent-Type: text/plain\r\n\r\n")
	for {
		if _, err := io.WriteString(c, strings.Repeat("x", 1<<16)); err != nil {
			return
		}
	}
}

func TestWhatTheEndpointSaysAndWhereItIsStaysOutOfTheLog(t *testing.T) {
	d := newDesk(t, Options{Attempts: 1}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Secret", "hunter2")
		w.WriteHeader(500)
		_, _ = io.WriteString(w, "hunter2")
	})
	d.s.Address = d.server.URL + "/hook?token=hunter2"
	d.s.Post(applied("commit 1"))
	d.settled(1)
	d.server.Close()
	d.s.Post(applied("commit 2"))
	d.settled(1)
	if len(d.logged) == 0 || d.logs("hunter2") != 0 {
		t.Errorf("logged: %q", d.logged)
	}
}

func TestAnAddressNothingCanBePostedToIsRefused(t *testing.T) {
	for name, address := range map[string]string{
		"no scheme":           "notification-controller.flux-system.svc.cluster.local.",
		"another scheme":      "ftp://notification-controller/",
		"no host":             "http:///path",
		"user and password":   "http://user:hunter2@notification-controller/",
		"not a URL":           "http://[hunter2/",
		"a control character": "http://notification-controller/\x7fhunter2",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(Options{Address: address})
			if err == nil {
				s.Close(t.Context())
				t.Fatal("taken")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a part of the address: %v", err)
			}
		})
	}
}

func TestWithoutAnAddressNothingIsPosted(t *testing.T) {
	s, err := Open(Options{})
	if s != nil || err != nil {
		t.Fatalf("%v, %v", s, err)
	}
	s.Post(applied("commit 1"))
	s.Close(t.Context())
}

func TestCloseSendsWhatWaits(t *testing.T) {
	d := newDesk(t, Options{}, status(202))
	for range 20 {
		d.s.Post(applied("commit 1"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	d.s.Close(ctx)
	if d.attempts() != 20 || ctx.Err() != nil {
		t.Errorf("%d of 20 events were sent", d.attempts())
	}
	d.s.Post(applied("too late"))
	if got := d.settled(21); got[20] != Stopped {
		t.Errorf("an event after Close is %s", got[20])
	}
	d.s.Close(ctx)
}

func TestCloseLetsGoWhatCannotBeSentInItsTime(t *testing.T) {
	reached := make(chan struct{}, 1)
	d := newDesk(t, Options{}, func(_ int, _ http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		<-r.Context().Done()
	})
	for range 3 {
		d.s.Post(applied("commit 1"))
	}
	<-reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	d.s.Close(ctx)
	if took := time.Since(began); took > timeout/2 {
		t.Errorf("Close took %s, as long as the attempt", took)
	}
	if diff := cmp.Diff([]Outcome{Stopped, Stopped, Stopped}, d.settled(3)); diff != "" {
		t.Error(diff)
	}
	if d.attempts() != 1 {
		t.Errorf("%d attempts, want none after the end", d.attempts())
	}
}

func TestCloseEndsAWaitBetweenTwoAttempts(t *testing.T) {
	reached := make(chan struct{}, 1)
	d := newDesk(t, Options{Backoff: time.Hour}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		reached <- struct{}{}
	})
	d.s.Post(applied("commit 1"))
	<-reached
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	d.s.Close(ctx)
	if diff := cmp.Diff([]Outcome{Stopped}, d.settled(1)); diff != "" {
		t.Error(diff)
	}
}
