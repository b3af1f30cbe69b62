package repourl

import (
	"net"
	"net/url"
	"path"
	"strings"
)

// defaultPorts are the ports a URL of the scheme means when it names none.
var defaultPorts = map[string]string{"http": "80", "https": "443", "ssh": "22", "git": "9418", "git+ssh": "22", "ssh+git": "22"}

// Key returns what identifies the repository raw names, as `host[:port]/path`, and whether it names one at all.
//
// The host is lower-case and the scheme is left out, and so are the scheme's own port, user and password, a .git at the
// end, and slashes that mean nothing. A path keeps its case: most servers tell a from A. A key
// holds neither user nor password.
func Key(raw string) (key string, ok bool) {
	host, port, repo, ok := split(strings.TrimSpace(raw))
	if !ok {
		return "", false
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	repo = strings.Trim(path.Clean("/"+repo), "/")
	repo = strings.TrimRight(strings.TrimSuffix(repo, ".git"), "/")
	if host == "" || repo == "" {
		return "", false
	}
	switch {
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return host + "/" + repo, true
}

// Same says that a and b name the same repository. What names no repository equals nothing, itself included.
func Same(a, b string) bool {
	ka, okA := Key(a)
	kb, okB := Key(b)
	return okA && okB && ka == kb
}

// split takes raw apart. The port is empty when it is the scheme's own.
func split(raw string) (host, port, repo string, ok bool) {
	if !strings.Contains(raw, "://") {
		return splitSCP(raw)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "", "", "", false
	}
	scheme := strings.ToLower(u.Scheme)
	own, known := defaultPorts[scheme]
	if !known {
		return "", "", "", false
	}
	if port = u.Port(); port == own {
		port = ""
	}
	repo = u.Path
	if u.RawQuery != "" {
		repo = strings.TrimRight(repo, "/") + "?" + u.RawQuery
	}
	return u.Hostname(), port, repo, true
}

// splitSCP takes apart the form git borrowed from scp, `[user@]host:path`, which has no port.
func splitSCP(raw string) (host, port, repo string, ok bool) {
	if at := strings.Index(raw, "@"); at >= 0 && !strings.ContainsAny(raw[:at], "/:") {
		raw = raw[at+1:]
	}
	if strings.HasPrefix(raw, "[") {
		host, repo, ok = strings.Cut(raw[1:], "]:")
		return host, "", repo, ok
	}
	host, repo, ok = strings.Cut(raw, ":")
	if !ok || strings.ContainsAny(host, "/@") {
		return "", "", "", false
	}
	return host, "", repo, true
}
