package gitstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxPathBytes = 4096
	maxNameBytes = 255
	maxDepth     = 64 // folders below one another
)

// segments returns the names on a path from the repository's root, or ErrPath for a path that is absolute, leaves the
// repository, or names something Git itself or another system would read as its own.
func segments(path string) ([]string, error) {
	names := strings.Split(path, "/")
	if len(path) > maxPathBytes || len(names) > maxDepth {
		return nil, fmt.Errorf("%.64q: %w", path, ErrPath)
	}
	for _, name := range names {
		if !safeName(name) {
			return nil, fmt.Errorf("%q: %w", path, ErrPath)
		}
	}
	return names, nil
}

// safeName says whether name may be a file or folder everywhere a repository is checked out.
func safeName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) > maxNameBytes || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		// Code points that HFS+ ignores make ".g\u200cit" another spelling of ".git"; a backslash or a colon is a
		// separator elsewhere.
		if r < 0x20 || r == 0x7f || r == '\\' || r == ':' || r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
			r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return false
		}
	}
	plain := strings.ToLower(strings.TrimRight(name, ". "))
	return plain != ".git" && plain != "git~1"
}
