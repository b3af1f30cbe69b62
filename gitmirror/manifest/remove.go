package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// remove takes away the member sp leads to; the last one leaves an empty collection.
func (s *source) remove(sp *spot) (hole, error) {
	if len(sp.rest) > 0 || sp.parent == nil {
		return hole{}, noHome(append(sp.path[:len(sp.path):len(sp.path)], sp.rest...), "is not written in the document")
	}
	n, width := sp.parent, 1
	if n.Kind == yaml.MappingNode {
		width = 2
	}
	first := sp.at - width + 1 // the member is Content[first:sp.at+1]
	for _, c := range n.Content[first : sp.at+1] {
		if anchored(c) {
			return hole{}, noHome(sp.path, "has an anchor")
		}
	}
	if len(n.Content) == width {
		if width == 1 {
			return s.replace(sp.above, []any{})
		}
		return s.replace(sp.above, map[string]any{})
	}
	from, err := s.memberStart(n, first)
	if err != nil {
		return hole{}, err
	}
	to, err := s.end(sp.node)
	if err != nil {
		return hole{}, err
	}
	switch {
	case sp.flow && sp.at+1 < len(n.Content):
		to, err = s.start(n.Content[sp.at+1])
	case sp.flow:
		from, err = s.end(n.Content[first-1])
	case s.alone(from) && s.next(to) == len(s.text) && !strings.HasSuffix(s.text, "\n") && !(first > 0 && s.blocks(n.Content[first-1])):
		from, to = s.eol(max(s.bol(from)-1, 0)), len(s.text)
	case s.alone(from):
		from, to = s.bol(from), s.next(to)
		if first > 0 && s.keeps(n.Content[first-1]) {
			// What follows would become part of the text before it.
			for to < len(s.text) && strings.Trim(s.text[to:s.next(to)], " \r\n") == "" {
				to = s.next(to)
			}
		}
	case first == 0 && width == 2 && strings.Contains(s.text[to:s.eol(to)], "#"):
		return hole{}, noHome(sp.path, "has a comment behind it and no line of its own")
	case first == 0 && width == 2:
		// The first key of a list element stands behind the dash; the next key takes its place.
		if next := s.skip(to, ""); strings.Contains(s.text[to:next], "#") {
			from, to = len(strings.TrimRight(s.text[:from], " ")), s.eol(to)
		} else {
			to = next
		}
	default:
		return hole{}, errPlace
	}
	return hole{from: from, to: to}, err
}

// memberStart returns where the member that begins with n.Content[i] begins: at its key, or at its dash.
func (s *source) memberStart(n *yaml.Node, i int) (int, error) {
	if n.Kind == yaml.MappingNode || flows(n) {
		return s.start(n.Content[i])
	}
	if i == 0 {
		return s.start(n)
	}
	prev, err := s.end(n.Content[i-1])
	if err != nil {
		return 0, err
	}
	at := s.skip(prev, "")
	if at >= len(s.text) || s.text[at] != '-' {
		return 0, errPlace
	}
	return at, nil
}
