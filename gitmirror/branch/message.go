package branch

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

const (
	// trailer names the write a commit was made for.
	trailer = "Holdfast-Write: "
	// impersonated names a user who acted in the author's name.
	impersonated = "Impersonated-By: "
	maxSubject   = 72 // runes
	maxBodyLines = 50
)

// message returns the commit message of a write that wrote the documents of these objects, some of them for the first time.
func message(w Write, written []manifest.Identity, created map[manifest.Identity]bool) string {
	var lines []string
	namespaces := map[string]bool{}
	for _, id := range written {
		verb := "update"
		if created[id] {
			verb = "create"
		}
		lines = append(lines, oneLine(verb+" "+short(id)))
		namespaces[id.Namespace] = true
	}
	var subject string
	var body []string
	switch len(lines) {
	case 0:
		subject = "update " + w.Folder
	case 1:
		subject = lines[0]
		if utf8.RuneCountInString(subject) > maxSubject {
			body = lines
		}
	default:
		subject, body = fmt.Sprintf("update %d objects", len(lines)), lines
		if ns := written[0].Namespace; len(namespaces) == 1 && ns != "" {
			subject += " in " + ns
		}
		if extra := len(body) - maxBodyLines; extra > 0 {
			body = append(slices.Clone(body[:maxBodyLines-1]), fmt.Sprintf("and %d more", extra+1))
		}
	}
	paragraphs := []string{cut(oneLine(subject))}
	if len(body) > 0 {
		paragraphs = append(paragraphs, strings.Join(body, "\n"))
	}
	return strings.Join(append(paragraphs, trailers(w)), "\n\n") + "\n"
}

// trailers are the last paragraph of a message: who acted in the author's name, and the write.
func trailers(w Write) string {
	var lines []string
	for _, user := range w.Impersonators {
		by := author.Of(user)
		lines = append(lines, fmt.Sprintf("%s%s <%s>", impersonated, by.Name, by.Email))
	}
	return strings.Join(append(lines, trailer+w.ID), "\n")
}

// short names an object as a person would: "Deployment team-a/web".
func short(id manifest.Identity) string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// cut bounds a subject.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxSubject {
		return s
	}
	return string([]rune(s)[:maxSubject-1]) + "…"
}

// writeOf returns the write a commit message names in its last paragraph, or "".
func writeOf(message string) string {
	message = strings.TrimSpace(message)
	last := message[strings.LastIndex(message, "\n\n")+1:]
	for line := range strings.Lines(last) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), trailer); ok {
			return id
		}
	}
	return ""
}
