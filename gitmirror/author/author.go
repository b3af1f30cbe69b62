package author

import (
	"net/mail"
	"strings"
)

// Author is who a commit is by, ready for Git: neither field holds a line break or an angle bracket.
type Author struct {
	Name  string
	Email string
}

// Unresolved is the author of an edit whose maker no audit event names.
var Unresolved = Author{Name: "unknown (attribution unresolved)", Email: "attribution-unresolved@holdfast.invalid"}

// maxName bounds a name in bytes; Kubernetes itself bounds usernames far below the size of a request.
const maxName = 254

// Of returns the author for a username as the API server authenticated it. The e-mail address is the username where it
// is an address, else the escaped username at users.holdfast.invalid. An empty username is Unresolved.
func Of(username string) Author {
	if strings.TrimSpace(username) == "" {
		return Unresolved
	}
	name := printable(username)
	if isAddress(username) {
		return Author{Name: name, Email: username}
	}
	return Author{Name: name, Email: escape(username) + "@users.holdfast.invalid"}
}

// isAddress says whether s is a bare mail address that Git can carry as it is.
func isAddress(s string) bool {
	if len(s) > maxName || strings.ContainsAny(s, "<>\" \t\r\n") {
		return false
	}
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && printable(s) == s
}

// printable returns s with everything Git cannot carry in a name replaced by "?", cut to maxName bytes.
func printable(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '<' || r == '>' || r == '\uFFFD' {
			return '?'
		}
		return r
	}, s)
	clean = strings.Trim(clean, " .,:;\"'")
	if clean == "" {
		clean = "?"
	}
	return cut(clean)
}

// escape returns s with every byte outside [a-zA-Z0-9._-] written as =XX, so that different usernames stay different.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('=')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return cut(b.String())
}

// cut bounds s to maxName bytes without splitting a rune.
func cut(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "")
}
