package manifest

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// add puts what sp lacks of c's path below sp's node.
func (s *source) add(sp *spot, c Change) (hole, error) {
	n, step := sp.node, sp.rest[0]
	value, err := nest(c, sp.rest[1:])
	if err != nil {
		return hole{}, err
	}
	isNull := n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
	switch {
	case isNull || n.Kind != yaml.ScalarNode && len(n.Content) == 0:
		if step.Name != "" {
			return s.replace(sp, []any{value})
		}
		return s.replace(sp, map[string]any{step.Key: value})
	case n.Kind == yaml.MappingNode && step.Name == "":
		return s.addKey(sp, step.Key, value)
	case n.Kind == yaml.SequenceNode && step.Name != "" && len(sp.rest) == 1:
		return s.addElement(sp, value, c.After)
	}
	return hole{}, noHome(c.Path, "has no place in the document as it is")
}

// nest returns c's value inside the maps that rest names.
func nest(c Change, rest Path) (any, error) {
	v := c.Value
	for i := len(rest) - 1; i >= 0; i-- {
		switch {
		case rest[i].Name == "":
			v = map[string]any{rest[i].Key: v}
		case i == len(rest)-1:
			v = []any{v}
		default:
			return nil, noHome(c.Path, "is in a list element the document lacks")
		}
	}
	return v, nil
}

// addKey puts a pair after the last one of a mapping.
func (s *source) addKey(sp *spot, key string, value any) (hole, error) {
	n := sp.node
	if sp.flow || flows(n) {
		st := style{flow: true, json: s.json}
		return s.addFlow(n, len(n.Content)-1, len(n.Content)-2, st.stringText(key)+": "+s.layout.flow(value, style{}))
	}
	last, err := s.end(n)
	if err != nil {
		return hole{}, err
	}
	if s.unended(n) {
		return hole{}, noHome(append(sp.path[:len(sp.path):len(sp.path)], Step{Key: key}), unendedWhy)
	}
	at, column := s.eol(last), n.Content[0].Column-1
	return hole{from: at, to: at, text: "\n" + spaces(column) + s.pair(key, value, column), block: endsInBlock(value)}, nil
}

// addElement puts an element into a list after the one named after.
func (s *source) addElement(sp *spot, value any, after string) (hole, error) {
	n := sp.node
	prev := len(n.Content) - 1
	if after == "" {
		prev = -1
	} else if i, err := find(n, Step{Name: after}); err == nil && i >= 0 {
		prev = i
	}
	if sp.flow || flows(n) {
		return s.addFlow(n, prev, prev, s.layout.flow(value, style{}))
	}
	column := n.Column - 1
	if prev < 0 {
		first, err := s.start(n)
		if err != nil || !s.alone(first) {
			return hole{}, errPlace
		}
		at := s.bol(first)
		return hole{from: at, to: at, text: spaces(column) + s.element(value, column) + "\n"}, nil
	}
	last, err := s.end(n.Content[prev])
	if err != nil {
		return hole{}, err
	}
	if s.unended(n.Content[prev]) {
		return hole{}, noHome(sp.path, unendedWhy)
	}
	at := s.eol(last)
	return hole{from: at, to: at, text: "\n" + spaces(column) + s.element(value, column), block: endsInBlock(value)}, nil
}

// addFlow puts text after the content number prev of a collection in brackets or braces, -1: in front. The content
// number like begins a member whose line the new one imitates.
func (s *source) addFlow(n *yaml.Node, prev, like int, text string) (hole, error) {
	if prev < 0 {
		open, err := s.body(n)
		if len(n.Content) > 0 {
			text += ", "
		}
		return hole{from: open + 1, to: open + 1, text: text}, err
	}
	at, err := s.end(n.Content[prev])
	if err != nil {
		return hole{}, err
	}
	begin, err := s.start(n.Content[like])
	if err != nil {
		return hole{}, err
	}
	gap := " "
	if s.alone(begin) && s.bol(begin) > 0 {
		gap = "\n" + s.text[s.bol(begin):begin]
	}
	if comma := s.skip(at, ""); prev == len(n.Content)-1 && comma < len(s.text) && s.text[comma] == ',' {
		return hole{from: comma + 1, to: comma + 1, text: gap + text + ","}, nil
	}
	return hole{from: at, to: at, text: "," + gap + text}, nil
}

const unendedWhy = "would follow a text without a line break at the end of the file, and a line break would change that text"

// unended says whether n ends in a block scalar that the end of the file cuts off before its line break.
func (s *source) unended(n *yaml.Node) bool {
	header, end, text := s.lastBlock(n)
	return header != "" && end == len(s.text) && !strings.HasSuffix(text, "\n") && !strings.Contains(header, "-")
}

// keeps says whether n ends in a block scalar to which the blank lines after it belong.
func (s *source) keeps(n *yaml.Node) bool {
	header, _, _ := s.lastBlock(n)
	return strings.Contains(header, "+")
}

// blocks says whether n ends in a block scalar, whose last line break is part of it.
func (s *source) blocks(n *yaml.Node) bool {
	header, _, _ := s.lastBlock(n)
	return header != ""
}

// lastBlock returns the header, the end and the text of the block scalar that n ends in, nothing when it ends in none.
func (s *source) lastBlock(n *yaml.Node) (header string, end int, text string) {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	at, err := s.body(n)
	if err != nil || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		return "", 0, ""
	}
	if end, err = s.end(n); err != nil {
		return "", 0, ""
	}
	header, _, _ = strings.Cut(s.text[at:s.eol(at)], "#")
	return header, end, n.Value
}
