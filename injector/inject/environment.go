package inject

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// variables is the environment of a container, in its order: later entries see those before them.
type variables []corev1.EnvVar

// expand returns text as kubelet hands it to the program. It returns false when a variable in it gets its value only on
// the node, or is not in the list.
func (v variables) expand(text string) (string, bool) {
	known := true
	out := replace(text, func(name string) string {
		for i := len(v) - 1; i >= 0; i-- {
			if v[i].Name != name {
				continue
			}
			if v[i].ValueFrom != nil {
				break
			}
			value, ok := v[:i].expand(v[i].Value)
			known = known && ok
			return value
		}
		known = false
		return ""
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

// replace puts values where text has $(NAME). As for kubelet, $$ is a $ that begins nothing, and what is not closed stays.
func replace(text string, value func(name string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		switch {
		case !found:
			return out.String()
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			out.WriteString(value(name))
			text = after
		default:
			out.WriteByte('$')
			text = rest
		}
	}
}

// networkVariables say how the API server and Flux's notification-controller are reached.
var networkVariables = []string{
	"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// copied returns those variables of container c that the texts refer to, that have one of these names, and that their
// values refer to in turn, in the order of c. The holder's own are never among them.
func copied(c *corev1.Container, texts, names []string) []corev1.EnvVar {
	wanted := map[string]bool{}
	var want func(name string)
	want = func(name string) {
		if wanted[name] {
			return
		}
		wanted[name] = true
		for _, e := range c.Env {
			if e.Name == name {
				for _, next := range references(e.Value) {
					want(next)
				}
			}
		}
	}
	for _, name := range names {
		want(name)
	}
	for _, text := range texts {
		for _, name := range references(text) {
			want(name)
		}
	}
	var env []corev1.EnvVar
	for _, e := range c.Env {
		if !wanted[e.Name] || e.Name == namespaceVariable || e.Name == memoryVariable {
			continue
		}
		e = *e.DeepCopy()
		if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.ContainerName == "" {
			e.ValueFrom.ResourceFieldRef.ContainerName = c.Name // left out it means the container it stands in
		}
		env = append(env, e)
	}
	return env
}
