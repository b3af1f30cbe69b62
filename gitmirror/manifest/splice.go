package manifest

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// hole is a stretch of the text and what takes its place, with "\n" for line breaks.
type hole struct {
	from, to int
	text     string
	block    bool // text ends in a block scalar, which needs its line break even at the end of the file
}

// fill returns the text with h filled, in the document's own line breaks.
func (s *source) fill(h hole) []byte {
	text := h.text
	if h.block && h.to == len(s.text) {
		text += "\n"
	}
	return []byte(s.text[:h.from] + strings.ReplaceAll(text, "\n", s.newline) + s.text[h.to:])
}

var octal = regexp.MustCompile(`^0[0-7]+$`)

// replace puts value where sp's node is. Only values of mappings are replaced; elements are added and removed.
func (s *source) replace(sp *spot, value any) (hole, error) {
	n := sp.node
	switch {
	case n.Kind == yaml.AliasNode || anchored(n):
		return hole{}, noHome(sp.path, "has an alias or an anchor")
	case sp.parent == nil || sp.parent.Kind != yaml.MappingNode:
		return hole{}, noHome(sp.path, "is a list element")
	}
	from, err := s.start(n)
	if err != nil {
		return hole{}, err
	}
	to, err := s.end(n)
	if err != nil {
		return hole{}, err
	}
	st := style{flow: sp.flow, json: s.json, octal: n.Kind == yaml.ScalarNode && n.Style == 0 && octal.MatchString(n.Value),
		quote: n.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)}
	if sp.flow || flows(n) && len(n.Content) > 0 && isCollection(value) {
		text := s.layout.flow(value, st)
		if from == to && (from == 0 || s.text[from-1] != ':') {
			return hole{}, errPlace
		}
		if from == to {
			text = " " + text
		}
		return hole{from: from, to: to, text: text}, nil
	}
	return s.replaceBlock(sp, value, st, from, to)
}

// replaceBlock puts value after the key of a block mapping, and keeps a comment on the key's or the value's line.
func (s *source) replaceBlock(sp *spot, value any, st style, from, to int) (hole, error) {
	key := sp.parent.Content[sp.at-1]
	keyEnd, err := s.end(key)
	if err != nil {
		return hole{}, err
	}
	colon := keyEnd + strings.IndexByte(s.text[keyEnd:]+":", ':')
	if colon >= len(s.text) || strings.Trim(s.text[keyEnd:colon], " \t") != "" {
		return hole{}, errPlace
	}
	text, isText := value.(string)
	isBlock := isText && literal(text) && st.quote == 0
	oneLine := sp.node.Kind == yaml.ScalarNode && s.eol(from) >= to
	if oneLine && from > colon+1 && s.bol(from) == s.bol(colon) && !isBlock && !isCollection(value) {
		// One scalar for another: nothing else on the line moves.
		return hole{from: from, to: to, text: st.scalarText(value)}, nil
	}
	comment := ""
	switch first := s.text[colon+1 : s.eol(colon)]; {
	case s.bol(from) != s.bol(colon):
		comment = commentOf(first)
	case sp.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		comment = commentOf(s.text[from:s.eol(from)])
	default:
		comment = commentOf(s.text[to:s.eol(to)])
	}
	to = s.eol(to)
	column := key.Column - 1
	l := s.layout
	if was := sp.node; was.Kind == yaml.SequenceNode && !flows(was) {
		l.dash = was.Column - key.Column
	}
	if st.quote == 0 && sp.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		l.indent = s.blockIndent(sp.node, column)
	}
	return hole{from: colon + 1, to: to, text: l.after(value, column, st, comment), block: isBlock || isCollection(value) && endsInBlock(value)}, nil
}

// blockIndent returns how far the lines of a literal block stand from its key at column.
func (s *source) blockIndent(n *yaml.Node, column int) int {
	if at, err := s.body(n); err == nil && n.Value != "" {
		if by := leadOf(s.text[s.next(at):]) - leadOf(n.Value) - column; by > 0 {
			return by
		}
	}
	return s.indent
}

// commentOf returns the comment in the rest of a line with the white space before it.
func commentOf(rest string) string {
	for i := range len(rest) {
		if rest[i] == '#' && i > 0 && (rest[i-1] == ' ' || rest[i-1] == '\t') {
			return rest[len(strings.TrimRight(rest[:i], " \t")):]
		}
	}
	return ""
}

func isCollection(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
