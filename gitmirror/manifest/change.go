package manifest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNoExactHome says that a change has no single place in its document; the wrapping error names the field.
var ErrNoExactHome = errors.New("the document has no exact home for this change; edit it in Git")

// Step is one step into an object: the map key Key, or, when Name is not empty, the list element whose "name" is Name.
type Step struct {
	Key  string `json:"key,omitempty"`
	Name string `json:"name,omitempty"`
}

// Path leads from the root of an object to a value.
type Path []Step

// String returns the path as people write it: spec.containers[web].image, metadata.annotations["a.b/c"].
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Name != "":
			b.WriteString("[" + s.Name + "]")
		case s.Key == "" || strings.ContainsAny(s.Key, ".[]\" "):
			b.WriteString("[" + strconv.Quote(s.Key) + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Key)
		}
	}
	return b.String()
}

// with returns p and one step more, sharing no memory with p.
func (p Path) with(s Step) Path {
	return append(p[:len(p):len(p)], s)
}

// Change is one difference between two states of an object. It survives a round trip through JSON.
type Change struct {
	Path   Path `json:"path"`
	Value  any  `json:"value,omitempty"`  // the new value; nil is null
	Remove bool `json:"remove,omitempty"` // the value is gone

	// Old is the live value a Remove took away. What Git holds below the same path beyond it was never live and stays.
	Old any `json:"old,omitempty"`

	// After is, for an added list element, the name of the element before it; empty: it is the first. An element that
	// is not in the document puts the added one at the end.
	After string `json:"after,omitempty"`
}

// noHome wraps ErrNoExactHome with the field and why it has none.
func noHome(p Path, why string) error {
	return fmt.Errorf("%s %s: %w", p, why, ErrNoExactHome)
}

// lookup returns the value at p in doc.
func lookup(doc any, p Path) (any, bool) {
	for _, s := range p {
		switch at := doc.(type) {
		case map[string]any:
			v, ok := at[s.Key]
			if !ok || s.Name != "" {
				return nil, false
			}
			doc = v
		case []any:
			i := indexOfName(at, s.Name)
			if i < 0 {
				return nil, false
			}
			doc = at[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// indexOfName returns where the one map named name is in list, -1 when there is none or several.
func indexOfName(list []any, name string) int {
	found := -1
	for i, e := range list {
		if m, ok := e.(map[string]any); ok && name != "" && m["name"] == name {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// apply returns doc with c made, changing doc's own maps. Missing parents are made, an absent value is removed already.
func apply(doc any, c Change, depth int) (any, error) {
	if depth == len(c.Path) {
		return copyValue(c.Value), nil
	}
	if c.Remove && doc == nil {
		return nil, nil
	}
	s, last := c.Path[depth], depth == len(c.Path)-1
	if s.Name == "" {
		m, ok := doc.(map[string]any)
		if doc == nil {
			m, ok = map[string]any{}, true
		}
		if !ok {
			return nil, noHome(c.Path[:depth+1], "is not below a mapping")
		}
		below, present := m[s.Key]
		if c.Remove && (last || !present) {
			if present {
				delete(m, s.Key)
			}
			return m, nil
		}
		v, err := apply(below, c, depth+1)
		if err == nil {
			m[s.Key] = v
		}
		return m, err
	}
	list, ok := doc.([]any)
	if !ok && doc != nil {
		return nil, noHome(c.Path[:depth+1], "is not in a list")
	}
	i := indexOfName(list, s.Name)
	switch {
	case i < 0 && c.Remove:
		return doc, nil
	case i < 0 && !last:
		return nil, noHome(c.Path[:depth+1], "is not in the list")
	case i < 0:
		return insertAfter(list, c.After, copyValue(c.Value)), nil
	case last && c.Remove:
		return append(list[:i:i], list[i+1:]...), nil
	}
	v, err := apply(list[i], c, depth+1)
	if err == nil {
		list[i] = v
	}
	return list, err
}

// insertAfter returns list with v after the element named after, first when after is empty, last when it is not there.
func insertAfter(list []any, after string, v any) []any {
	at := len(list)
	if after == "" {
		at = 0
	} else if i := indexOfName(list, after); i >= 0 {
		at = i + 1
	}
	out := append(make([]any, 0, len(list)+1), list[:at]...)
	return append(append(out, v), list[at:]...)
}
