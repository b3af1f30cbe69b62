package statuspage

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// readTimeout bounds how long an answer waits for a cache that is not filled yet.
const readTimeout = 5 * time.Second

// Handler serves the document of the FluxTriggers in cached, to peers on the loopback interface alone. leadership and now
// are asked once for each answer.
//
// The Host header must name the loopback interface as well. A browser that shows a page of somebody else's can be made to
// ask a name that leads to 127.0.0.1, where a port-forward listens; it cannot be made to write another name than that one.
func Handler(cached client.Reader, leadership func() Leadership, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case !loopbackPeer(r.RemoteAddr) || !loopbackHost(r.Host):
			http.Error(w, "Only the loopback interface gets the status. Use kubectl port-forward to this pod, and ask http://localhost at the forwarded port.", http.StatusForbidden)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "The status can only be read: use GET.", http.StatusMethodNotAllowed)
			return
		}
		body, err := document(r.Context(), cached, leadership(), now)
		if err != nil {
			log.FromContext(r.Context()).Error(err, "no status could be made")
			http.Error(w, "The holder cannot read its triggers yet. Ask again in a few seconds; /readyz says when it can.", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body) // to HEAD the server sends no body
	})
}

// document reads the triggers and writes the document.
func document(ctx context.Context, cached client.Reader, leadership Leadership, now func() time.Time) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var triggers v1alpha1.FluxTriggerList
	if err := cached.List(ctx, &triggers); err != nil {
		return nil, fmt.Errorf("list FluxTriggers for the status: %w", err)
	}
	body, err := json.MarshalIndent(Build(now(), triggers.Items, leadership), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the status as JSON: %w", err)
	}
	return append(body, '\n'), nil
}

// loopbackPeer says that address, as the server saw it, is on the loopback interface.
func loopbackPeer(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// loopbackHost says that a Host header names the loopback interface, with or without a port.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if len(name) > 1 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	at, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && at.Unmap().IsLoopback()
}
