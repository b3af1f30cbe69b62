package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	clusterDomain = ".svc.cluster.local."
	lookupBound   = 2 * time.Second
	maxQuery      = 512 // bytes over UDP
)

// lookup returns the address of a Service; the zero Addr says that there is none.
type lookup func(ctx context.Context, namespace, service string) (netip.Addr, error)

// nameServer answers for the Services of the cluster, over UDP, and says of every other name that it does not exist.
type nameServer struct {
	conn net.PacketConn
	find lookup
}

// newNameServer listens on addr until close.
func newNameServer(addr string, find lookup) (*nameServer, error) {
	conn, err := net.ListenPacket("udp", addr)
	if err != nil {
		return nil, err
	}
	s := &nameServer{conn: conn, find: find}
	go s.serve()
	return s, nil
}

func (s *nameServer) close() error { return s.conn.Close() }

// serve returns when the server is closed.
func (s *nameServer) serve() {
	for {
		buf := make([]byte, maxQuery)
		n, from, err := s.conn.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that is gone
		}
		go func() {
			if answer, err := s.answer(buf[:n]); err == nil {
				_, _ = s.conn.WriteTo(answer, from) // who gets none asks again
			}
		}()
	}
}

// answer is the reply to one query. The error is of a query that cannot be read.
func (s *nameServer) answer(query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil {
		return nil, err
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	addr, err := s.resolve(q.Name.String())
	switch {
	case err != nil:
		reply.RCode = dnsmessage.RCodeServerFailure
	case !addr.IsValid():
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		reply.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: addr.As4()},
		}}
	}
	return reply.Pack()
}

// resolve finds service.namespace.svc.cluster.local.
func (s *nameServer) resolve(name string) (netip.Addr, error) {
	local, ours := strings.CutSuffix(strings.ToLower(name), clusterDomain)
	service, namespace, whole := strings.Cut(local, ".")
	if !ours || !whole || strings.Contains(namespace, ".") {
		return netip.Addr{}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupBound)
	defer cancel()
	return s.find(ctx, namespace, service)
}

// serviceAddresses finds Services by asking the API server.
func serviceAddresses(c client.Reader) lookup {
	return func(ctx context.Context, namespace, name string) (netip.Addr, error) {
		var service corev1.Service
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &service); err != nil {
			return netip.Addr{}, client.IgnoreNotFound(err)
		}
		if service.Spec.ClusterIP == corev1.ClusterIPNone {
			return netip.Addr{}, nil
		}
		return netip.ParseAddr(service.Spec.ClusterIP)
	}
}
