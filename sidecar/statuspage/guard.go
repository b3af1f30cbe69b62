package statuspage

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// refused is what everybody gets who is not on the loopback interface.
const refused = "Only the loopback interface gets the status. Use kubectl port-forward to this pod, and ask http://localhost at the forwarded port."

// policy lets a page of ours load its own files, ask this server, and nothing else; what would put text into the page as
// HTML must have been made by the one policy status.js declares.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types holdfast"

// guarded answers for next only to peers on the loopback interface that read, and says to every browser to keep nothing and
// to trust nothing else.
//
// The Host header must name the loopback interface as well. A browser that shows a page of somebody else's can be made to
// ask a name that leads to 127.0.0.1, where a port-forward listens; it cannot be made to write another name than that one.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Cache-Control":                "no-store",
			"Content-Security-Policy":      policy,
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Frame-Options":              "DENY",
		} {
			w.Header().Set(name, value)
		}
		switch {
		case !loopbackPeer(r.RemoteAddr) || !loopbackHost(r.Host):
			http.Error(w, refused, http.StatusForbidden)
			return
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "The status can only be read: use GET.", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackPeer says that address, as the server saw it, is on the loopback interface.
func loopbackPeer(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.Addr().Unmap().IsLoopback()
}

// loopbackHost says that a Host header is one of the three names of the loopback interface, with or without a port.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.EqualFold(name, "localhost") || name == "127.0.0.1" || name == "::1"
}

// elsewhere says that a browser asks on behalf of a page that is not ours. Such a page can read no answer, but it could keep
// streams open until nobody else gets one.
func elsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}
