package node

import (
	"context"
	"fmt"
	"net"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// Where the chart has gitmirror take audit events.
const (
	auditService = "holdfast-gitmirror"
	auditPort    = "9443"
)

// openWays lets pods reach what runs on this machine: the API server under the address of its Service, the Git server and
// the DNS server. The API server's audit events find gitmirror through its Service.
func (n *Node) openWays(ctx context.Context) error {
	api, err := n.way(n.World.APIAddress())
	if err != nil {
		return err
	}
	git, err := n.way(n.World.Git.Addr())
	if err != nil {
		return err
	}
	n.World.Git.FoundAt(git)
	admin, err := n.World.Client(cluster.Admin)
	if err != nil {
		return err
	}
	find := serviceAddresses(admin)
	if n.dns, err = newNameServer(net.JoinHostPort(hostAddress, "53"), find); err != nil {
		return err
	}
	audit, err := newRelay(n.World.AuditAddress(), func() (string, error) {
		addr, err := find(context.Background(), cluster.HoldfastNamespace, auditService)
		return net.JoinHostPort(addr.String(), auditPort), err // one that is not there is refused by whoever dials it
	})
	if err != nil {
		return err
	}
	n.relays = append(n.relays, audit)
	_, port, err := net.SplitHostPort(api)
	if err != nil {
		return err
	}
	return n.World.Apply(ctx, fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: kubernetes
  namespace: default
  labels: {kubernetes.io/service-name: kubernetes}
addressType: IPv4
ports: [{name: https, port: %s, protocol: TCP}]
endpoints: [{addresses: [%q], conditions: {ready: true}}]
`, port, hostAddress))
}

// way makes a server on loopback reachable from pods, by the port it has, and returns where.
func (n *Node) way(addr string) (string, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	r, err := newRelay(net.JoinHostPort(hostAddress, port), always(addr))
	if err != nil {
		return "", err
	}
	n.relays = append(n.relays, r)
	return r.addr(), nil
}
