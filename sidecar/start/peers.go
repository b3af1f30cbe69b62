package start

import (
	"net"
	"net/netip"
	"sync"
)

// connectionsEach is how many connections one address may have at a time. A kubelet, a Prometheus and a person with a
// port-forward need a handful each, and no address can take the others' away or fill the memory with what it leaves open.
const connectionsEach = 64

// peers is a listener that closes what comes beyond limit from one address, unread.
type peers struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open map[netip.Addr]int
}

func newPeers(l net.Listener, limit int) *peers {
	return &peers{Listener: l, limit: limit, open: map[netip.Addr]int{}}
}

func (p *peers) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var from netip.Addr
		if at, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
			from = at.Addr().Unmap()
		}
		if p.enter(from) {
			return &peer{Conn: c, left: sync.OnceFunc(func() { p.leave(from) })}, nil
		}
		_ = c.Close() // it was never read from
	}
}

func (p *peers) enter(from netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[from] >= p.limit {
		return false
	}
	p.open[from]++
	return true
}

func (p *peers) leave(from netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[from]--; p.open[from] == 0 {
		delete(p.open, from)
	}
}

// peer is a connection that is counted until it is closed.
type peer struct {
	net.Conn
	left func()
}

func (p *peer) Close() error {
	defer p.left()
	return p.Conn.Close()
}
