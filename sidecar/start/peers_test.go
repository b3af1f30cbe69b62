package start

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Addresses of the loopback interface stand for pods: each is a peer of its own.
func TestAnAddressThatKeepsConnectionsOpenTakesNoneFromOthers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, NewGate(time.Hour), prometheus.NewRegistry(), http.NotFoundHandler())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		server.Close(ctx)
	})
	const greedy, kubelet = "127.0.0.2", "127.0.0.3"
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	// probe is nil when the connection gets an answer.
	probe := func(c net.Conn) error {
		if _, err := fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: holder\r\n\r\n"); err != nil {
			return err
		}
		status, err := bufio.NewReader(c).ReadString('\n')
		if err == nil && !strings.Contains(status, "200 OK") {
			err = errors.New(status)
		}
		return err
	}

	var held []net.Conn
	for range connectionsEach {
		c := dial(greedy)
		if err := probe(c); err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	if err := probe(dial(greedy)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("one more from the same address is closed, not %v", err)
	}
	if err := probe(dial(kubelet)); err != nil {
		t.Errorf("another address: %v", err)
	}

	held[0].Close()
	deadline := time.Now().Add(10 * time.Second)
	for err := probe(dial(greedy)); err != nil; err = probe(dial(greedy)) { // the server has yet to see that it is closed
		if time.Now().After(deadline) {
			t.Fatalf("a connection that ended does not make room for another: %v", err)
		}
	}
}
