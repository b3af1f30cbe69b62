package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// balancer stands for a Service on loopback: it leads each connection to one of its backends that is ready, in turn.
type balancer struct {
	listener net.Listener
	backends []backend
	ready    []atomic.Bool
	next     atomic.Int64
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// backend is where connections are led and where is asked whether it is ready.
type backend struct{ addr, readyURL string }

const (
	// readyEvery is how often backends are asked; a Service learns no sooner from a readiness probe.
	readyEvery = 200 * time.Millisecond

	// lateBound is how many answers in a row may come too late until a backend counts as not ready, as with kubelet.
	lateBound = 3
)

// startBalancer listens on addr until close. Without a ready backend a connection is closed at once.
func startBalancer(addr string, backends []backend) (*balancer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &balancer{listener: l, backends: backends, ready: make([]atomic.Bool, len(backends)), stop: stop}
	for i := range backends {
		b.running.Go(func() { b.probe(ctx, i) })
	}
	b.running.Go(func() { b.accept(ctx) })
	return b, nil
}

func (b *balancer) close() {
	b.stop()
	_ = b.listener.Close()
	b.running.Wait()
}

func (b *balancer) probe(ctx context.Context, i int) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	late := 0
	for {
		ok, err := answersOK(ctx, client, b.backends[i].readyURL)
		if late++; !errors.Is(err, context.DeadlineExceeded) {
			late = 0
		}
		if late == 0 || late >= lateBound {
			b.ready[i].Store(ok)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// answersOK reports whether the answer is 200. An error says why there is no answer.
func answersOK(ctx context.Context, client *http.Client, url string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK, nil
}

func (b *balancer) accept(ctx context.Context) {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return // it was closed
		}
		addr := b.choose()
		if addr == "" {
			_ = conn.Close()
			continue
		}
		b.running.Go(func() { join(ctx, conn, addr) })
	}
}

// choose returns the next backend that is ready; "": none is.
func (b *balancer) choose() string {
	for range b.backends {
		i := int(b.next.Add(1)) % len(b.backends)
		if b.ready[i].Load() {
			return b.backends[i].addr
		}
	}
	return ""
}

// join copies both ways until either side ends or ctx does.
func join(ctx context.Context, from net.Conn, addr string) {
	defer from.Close()
	to, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return
	}
	defer to.Close()
	end := context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
	defer end()
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
	_, _ = io.Copy(to, from)
	_ = to.Close()
	<-back
}
