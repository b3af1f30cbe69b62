package node

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestTheNameServerKnowsServicesAndNothingElse(t *testing.T) {
	server, err := newNameServer("127.0.0.1:0", func(_ context.Context, namespace, service string) (netip.Addr, error) {
		switch namespace + "/" + service {
		case "flux-system/source-controller":
			return netip.MustParseAddr("10.96.0.7"), nil
		case "broken/api":
			return netip.Addr{}, errors.New("the API server is away")
		}
		return netip.Addr{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer server.close()
	for _, c := range []struct {
		name  string
		asked string
		kind  dnsmessage.Type
		code  dnsmessage.RCode
		want  string
	}{
		{"a Service has its address", "source-controller.flux-system.svc.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "10.96.0.7"},
		{"in any case of letters", "Source-Controller.Flux-System.SVC.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeSuccess, "10.96.0.7"},
		{"a Service has no address of another kind", "source-controller.flux-system.svc.cluster.local.", dnsmessage.TypeAAAA, dnsmessage.RCodeSuccess, ""},
		{"a Service that is not there has no name", "web.flux-system.svc.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"nor has a part of one", "flux-system.svc.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"nor has a name with more before it", "a.b.c.svc.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"names of the world outside do not exist", "example.org.", dnsmessage.TypeA, dnsmessage.RCodeNameError, ""},
		{"that nobody knows is another thing than that there is none", "api.broken.svc.cluster.local.", dnsmessage.TypeA, dnsmessage.RCodeServerFailure, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := ask(t, server.conn.LocalAddr(), c.asked, c.kind)
			got := ""
			for _, a := range reply.Answers {
				got = netip.AddrFrom4(a.Body.(*dnsmessage.AResource).A).String()
			}
			if reply.RCode != c.code || got != c.want || reply.ID != 7 || !reply.Response {
				t.Errorf("got %v %q, want %v %q", reply.RCode, got, c.code, c.want)
			}
		})
	}
}

func ask(t *testing.T, server net.Addr, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	query := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	packed, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("udp", server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(packed); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, maxQuery)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	var reply dnsmessage.Message
	if err := reply.Unpack(buf[:n]); err != nil {
		t.Fatal(err)
	}
	return reply
}
