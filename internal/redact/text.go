package redact

import (
	"regexp"
	"strings"
)

// urls finds what looks like a URL: scheme, user information, the rest, and the query.
var urls = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^\s/]*@)?([^\s?]*)(\?\S*)?`)

// Text returns s with the credentials of every URL in it taken out: the password, over HTTP also the user, which may be a
// token, and the query, which may hold one. A user of another scheme stays, as in ssh://git@host. What is no URL stays as it
// is.
func Text(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	return urls.ReplaceAllStringFunc(s, func(found string) string {
		p := urls.FindStringSubmatch(found)
		scheme, user, rest, query := p[1], p[2], p[3], p[4]
		if strings.HasPrefix(strings.ToLower(scheme), "http") {
			user = ""
		}
		if name, _, has := strings.Cut(user, ":"); has {
			user = name + "@"
		}
		if query != "" {
			query = "?…"
		}
		return scheme + user + rest + query
	})
}
