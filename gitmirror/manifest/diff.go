package manifest

import (
	"maps"
	"slices"
)

// Diff returns the changes that make new out of old, both sanitized, in a fixed order. Lists whose elements all are maps
// with a name of their own, on both sides, are compared element by element as long as the elements kept also keep their
// order; any other list is replaced whole. Numbers compare by value, quantities as they are written.
func Diff(old, new map[string]any) []Change {
	d := differ{same: func(_ Path, a, b any) bool { return sameValue(a, b) }}
	d.maps(nil, old, new)
	return d.changes
}

// expand returns c as the smallest changes that doc still lacks: what doc already means is left out, and maps and named
// lists are merged member by member, so that what only Git has stays.
func expand(doc map[string]any, c Change) []Change {
	at, present := lookup(doc, c.Path)
	switch {
	case c.Remove && !present:
		return nil
	case c.Remove:
		return removals(c, at)
	case !present:
		return []Change{c}
	}
	// Diff sets a map only where there was no map before: nothing below it was taken away. A list it sets is whole.
	_, isMap := c.Value.(map[string]any)
	d := differ{same: sameMeaning, keep: isMap}
	d.values(c.Path, at, c.Value)
	return d.changes
}

// removals returns c, or where at holds members that c.Old does not, the removal of the others.
func removals(c Change, at any) []Change {
	old, isMap := c.Old.(map[string]any)
	now, alsoMap := at.(map[string]any)
	if !isMap || !alsoMap {
		return []Change{c}
	}
	var out []Change
	var stays bool
	for _, k := range slices.Sorted(maps.Keys(now)) {
		was, known := old[k]
		if !known {
			stays = true
			continue
		}
		below := removals(Change{Path: c.Path.with(Step{Key: k}), Remove: true, Old: was}, now[k])
		whole := len(below) == 1 && len(below[0].Path) == len(c.Path)+1
		stays = stays || !whole
		out = append(out, below...)
	}
	if !stays {
		return []Change{c}
	}
	return out
}

// differ collects the changes between two values.
type differ struct {
	same    func(p Path, a, b any) bool
	keep    bool // what new lacks stays
	changes []Change
}

func (d *differ) maps(p Path, old, new map[string]any) {
	keys := slices.Sorted(maps.Keys(old))
	for k := range new {
		if _, ok := old[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := p.with(Step{Key: k})
		was, before := old[k]
		is, after := new[k]
		switch {
		case !after && !d.keep:
			d.changes = append(d.changes, Change{Path: at, Remove: true, Old: copyValue(was)})
		case !after:
		case !before:
			if list, ok := is.([]any); ok && len(list) > 0 && named(list) {
				d.lists(at, nil, list)
				continue
			}
			d.changes = append(d.changes, Change{Path: at, Value: copyValue(is)})
		default:
			d.values(at, was, is)
		}
	}
}

func (d *differ) values(p Path, old, new any) {
	om, ok1 := old.(map[string]any)
	nm, ok2 := new.(map[string]any)
	if ok1 && ok2 {
		d.maps(p, om, nm)
		return
	}
	ol, ok1 := old.([]any)
	nl, ok2 := new.([]any)
	if ok1 && ok2 && len(ol)+len(nl) > 0 && named(ol) && named(nl) && (d.keep || keepsOrder(ol, nl)) {
		d.lists(p, ol, nl)
		return
	}
	if !d.same(p, old, new) {
		d.changes = append(d.changes, Change{Path: p, Value: copyValue(new)})
	}
}

// lists compares two lists of maps with unique names.
func (d *differ) lists(p Path, old, new []any) {
	for _, e := range old {
		name := nameOf(e)
		if indexOfName(new, name) < 0 && !d.keep {
			d.changes = append(d.changes, Change{Path: p.with(Step{Name: name}), Remove: true, Old: copyValue(e)})
		}
	}
	after := ""
	for _, e := range new {
		name := nameOf(e)
		if i := indexOfName(old, name); i >= 0 {
			d.values(p.with(Step{Name: name}), old[i], e)
		} else {
			d.changes = append(d.changes, Change{Path: p.with(Step{Name: name}), Value: copyValue(e), After: after})
		}
		after = name
	}
}

// named says whether every element of list is a map with a name no other element has.
func named(list []any) bool {
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		name := nameOf(e)
		if name == "" || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

// nameOf returns the "name" of a list element, empty when it has none.
func nameOf(e any) string {
	m, _ := e.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// keepsOrder says whether the elements in both lists come in the same order in each.
func keepsOrder(old, new []any) bool {
	last := -1
	for _, e := range new {
		i := indexOfName(old, nameOf(e))
		if i >= 0 && i < last {
			return false
		}
		last = max(last, i)
	}
	return true
}
