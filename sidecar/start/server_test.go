package start

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// calls is a listener that gets its connections from a test.
type calls chan net.Conn

func (c calls) Accept() (net.Conn, error) {
	if in, open := <-c; open {
		return in, nil
	}
	return nil, net.ErrClosed
}

func (c calls) Close() error   { close(c); return nil }
func (c calls) Addr() net.Addr { return &net.TCPAddr{} }

func TestAnAnswerThatNobodyReadsIsCutOff(t *testing.T) {
	for _, path := range []string{"/metrics", "/healthz", "/readyz", "/startz", "/"} {
		synctest.Test(t, func(t *testing.T) {
			listener := make(calls)
			server := Serve(listener, NewGate(time.Hour), prometheus.NewRegistry(), http.NotFoundHandler())
			ours, theirs := net.Pipe() // which keeps nothing: an answer waits until it is read
			listener <- theirs
			if _, err := io.WriteString(ours, "GET "+path+" HTTP/1.1\r\nHost: holder\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(answerWithin + time.Second)
			synctest.Wait()
			if n, err := ours.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("%s: after %s it still is to be had: %d bytes, %v", path, answerWithin, n, err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			server.Close(ctx)
		})
	}
}
