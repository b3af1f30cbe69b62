package node

import (
	"errors"
	"io"
	"net"
	"sync"
)

// relay takes connections on one address and passes them on to another. Servers of the world listen on loopback, which
// pods cannot reach; a relay is their address for pods. The other way round, one on loopback leads to a Service.
type relay struct {
	listener net.Listener
	to       func() (string, error) // asked for each connection

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newRelay listens on addr until close.
func newRelay(addr string, to func() (string, error)) (*relay, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, to: to, conns: map[net.Conn]bool{}}
	go r.serve()
	return r, nil
}

// always leads every connection to the same address.
func always(addr string) func() (string, error) { return func() (string, error) { return addr, nil } }

func (r *relay) addr() string { return r.listener.Addr().String() }

// serve returns when the listener is closed.
func (r *relay) serve() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		go r.pass(in)
	}
}

// pass joins one connection with a new one to the other side until either ends.
func (r *relay) pass(in net.Conn) {
	if !r.keep(in) {
		return
	}
	defer r.drop(in)
	to, err := r.to()
	if err != nil {
		return // the client sees its connection cut, as by a server that is down
	}
	out, err := net.Dial("tcp", to)
	if err != nil || !r.keep(out) {
		return
	}
	defer r.drop(out)
	var wg sync.WaitGroup
	wg.Go(func() { half(out, in) })
	wg.Go(func() { half(in, out) })
	wg.Wait()
}

// half copies one direction and tells the receiver that it is over.
func half(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either side may go when it likes
	if c, ok := to.(*net.TCPConn); ok {
		_ = c.CloseWrite()
	}
}

// keep remembers the connection for close; false: the relay is closed, and so is the connection.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		_ = c.Close()
		return false
	}
	r.conns[c] = true
	return true
}

func (r *relay) drop(c net.Conn) {
	_ = c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
}

// close ends the relay and every connection through it.
func (r *relay) close() error {
	err := r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		err = errors.Join(err, ignoreClosed(c.Close()))
	}
	r.conns = nil
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
