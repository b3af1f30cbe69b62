package inject

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxExpanded is how much references may write in all of what one container says, in bytes. Variables that are made of each
// other can double with each one, so that a pod of a few lines says more than any memory holds. No flag comes near this.
const maxExpanded = 32 << 10

// environment is what a pod says of the variables of a container. A nil one may be asked for text without references.
type environment struct {
	values map[string]string // those whose value is in the pod
	left   int               // of maxExpanded
}

// environmentOf returns the environment that variables make, in their order: later ones see those before them.
func environmentOf(variables []corev1.EnvVar) *environment {
	e := &environment{values: map[string]string{}, left: maxExpanded}
	for _, v := range variables {
		value, known := e.expand(v.Value)
		if known && v.ValueFrom == nil {
			e.values[v.Name] = value
		} else {
			delete(e.values, v.Name)
		}
	}
	return e
}

// expand returns text as kubelet hands it to the program. It returns false when a variable in it gets its value only on
// the node, or is not in the list, and when the values come to more than maxExpanded.
func (e *environment) expand(text string) (string, bool) {
	if !strings.Contains(text, "$") {
		return text, true
	}
	known := true
	out := replace(text, func(name string) string {
		value, found := e.values[name]
		e.left -= len(value)
		if !found || e.left < 0 {
			known = false
			return ""
		}
		return value
	})
	return out, known
}

// references returns the names of the variables in text.
func references(text string) []string {
	var names []string
	replace(text, func(name string) string {
		names = append(names, name)
		return ""
	})
	return names
}

// replace puts values where text has $(NAME). As for kubelet, $$ is a $ that begins nothing, and what is not closed stays. It
// looks at each byte a fixed number of times.
func replace(text string, value func(name string) string) string {
	var out strings.Builder
	last := strings.LastIndexByte(text, ')')
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '$')
		if next < 0 {
			out.WriteString(text[at:])
			return out.String()
		}
		out.WriteString(text[at : at+next])
		at += next + 1
		switch {
		case strings.HasPrefix(text[at:], "$"):
			out.WriteByte('$')
			at++
		case strings.HasPrefix(text[at:], "(") && at < last:
			name, _, _ := strings.Cut(text[at+1:], ")")
			out.WriteString(value(name))
			at += len(name) + 2
		default:
			out.WriteByte('$')
		}
	}
}
