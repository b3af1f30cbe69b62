package manifest

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// errPlace says that the text does not look the way its nodes say; the caller adds the field.
var errPlace = errors.New("the place of a value in the text cannot be told")

// source is one document's text with its nodes, and where they stand in the text. The parser tells where a node
// begins; where it ends is read off the text. A wrong end is caught when the edit is verified.
type source struct {
	text  string
	lines []int // where each line begins
	root  *yaml.Node
	layout
	newline string
}

// read parses one document without byte order mark.
func read(text []byte) (*source, error) {
	root, err := parseNode(text)
	if err != nil {
		return nil, err
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, errors.New("the document is not a mapping")
	}
	s := &source{text: string(text), lines: []int{0}, root: root, newline: "\n"}
	for i, r := range s.text {
		switch r {
		case '\r':
			if !strings.HasPrefix(s.text[i:], "\r\n") {
				s.lines = append(s.lines, i+1)
			}
		case '\n', '\u0085', '\u2028', '\u2029': // what YAML 1.1 counts as line breaks
			s.lines = append(s.lines, i+utf8.RuneLen(r))
		}
	}
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		s.newline = "\r\n"
	}
	s.layout = layout{json: flows(root)}
	s.learn(root)
	if s.indent == 0 {
		s.indent = 2
	}
	s.dash = max(s.dash, 0)
	return s, nil
}

// learn takes the layout from the first mapping and the first list below a key of a block mapping.
func (s *source) learn(root *yaml.Node) {
	s.dash = -1
	var walk func(n *yaml.Node, depth int)
	walk = func(n *yaml.Node, depth int) {
		if depth > 100 || s.indent > 0 && s.dash >= 0 {
			return
		}
		for i, v := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && !flows(n) && !flows(v) && v.Line > n.Content[i-1].Line {
				by := v.Column - n.Content[i-1].Column
				if v.Kind == yaml.MappingNode && s.indent == 0 && by > 0 {
					s.indent = by
				}
				if v.Kind == yaml.SequenceNode && s.dash < 0 && by >= 0 {
					s.dash = by
				}
			}
			walk(v, depth+1)
		}
	}
	walk(root, 0)
}

func flows(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// start returns where n begins, its anchor and tag included.
func (s *source) start(n *yaml.Node) (int, error) {
	if n.Line < 1 || n.Line > len(s.lines) {
		return 0, errPlace
	}
	at := s.lines[n.Line-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		if size == 0 {
			return 0, errPlace
		}
		at += size
	}
	return at, nil
}

// body returns where n begins after its anchor and tag.
func (s *source) body(n *yaml.Node) (int, error) {
	at, err := s.start(n)
	for err == nil && n.Kind != yaml.AliasNode && at < len(s.text) && (s.text[at] == '&' || s.text[at] == '!') {
		at += strings.IndexAny(s.text[at:]+" ", " \t\r\n,]}")
		at = s.skip(at, "")
	}
	return at, err
}

// skip returns the first place from at on that is no white space, comment or byte of also.
func (s *source) skip(at int, also string) int {
	for at < len(s.text) {
		switch c := s.text[at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0, strings.IndexByte(also, c) >= 0:
			at++
		case c == '#' && (at == 0 || strings.IndexByte(" \t\r\n", s.text[at-1]) >= 0):
			at = s.eol(at)
		default:
			return at
		}
	}
	return at
}

// eol returns where the line that holds at ends, before its line break.
func (s *source) eol(at int) int {
	end := len(s.text)
	if n := strings.IndexByte(s.text[at:], '\n'); n >= 0 {
		end = at + n
	}
	if end > at && s.text[end-1] == '\r' {
		end--
	}
	return end
}

// bol returns where the line that holds at begins.
func (s *source) bol(at int) int { return strings.LastIndexByte(s.text[:at], '\n') + 1 }

// next returns where the line after the one that holds at begins.
func (s *source) next(at int) int {
	if n := strings.IndexByte(s.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(s.text)
}

// alone says whether only spaces stand before at on its line.
func (s *source) alone(at int) bool { return strings.Trim(s.text[s.bol(at):at], " ") == "" }

// end returns where n ends: after its last byte, before the line break of a block.
func (s *source) end(n *yaml.Node) (int, error) {
	at, err := s.body(n)
	if err != nil {
		return 0, err
	}
	switch n.Kind {
	case yaml.AliasNode:
		return at + 1 + len(n.Value), nil
	case yaml.ScalarNode:
		return s.scalarEnd(n, at)
	}
	last := at
	if len(n.Content) > 0 {
		if last, err = s.end(n.Content[len(n.Content)-1]); err != nil {
			return 0, err
		}
	}
	if !flows(n) {
		return last, nil
	}
	if len(n.Content) == 0 {
		last++
	}
	last = s.skip(last, ",")
	if last >= len(s.text) || s.text[last] != ']' && s.text[last] != '}' {
		return 0, errPlace
	}
	return last + 1, nil
}

// scalarEnd returns where the scalar whose text begins at at ends.
func (s *source) scalarEnd(n *yaml.Node, at int) (int, error) {
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.blockEnd(n, at)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := at + 1; i < len(s.text); i++ {
			switch s.text[i] {
			case '\\':
				i++
			case '"':
				return i + 1, nil
			}
		}
		return 0, errPlace
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := at + 1; i < len(s.text); i++ {
			if s.text[i] == '\'' {
				if i+1 == len(s.text) || s.text[i+1] != '\'' {
					return i + 1, nil
				}
				i++
			}
		}
		return 0, errPlace
	}
	// A plain scalar is its value, but for the white space where it is folded.
	for i := range len(n.Value) {
		if c := n.Value[i]; c == ' ' || c == '\n' || c == '\t' {
			continue
		}
		for at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[at]) >= 0 {
			at++
		}
		if at == len(s.text) || s.text[at] != n.Value[i] {
			return 0, errPlace
		}
		at++
	}
	return at, nil
}

// blockEnd returns where the literal or folded scalar ends whose header begins at at. The blank lines after it belong
// to it only where its header says keep.
func (s *source) blockEnd(n *yaml.Node, at int) (int, error) {
	if at >= len(s.text) || s.text[at] != '|' && s.text[at] != '>' {
		return 0, errPlace
	}
	end := s.eol(at)
	header, _, _ := strings.Cut(s.text[at:end], "#")
	keep := strings.Contains(header, "+")
	indent := -1
	for i := s.next(at); i < len(s.text); i = s.next(i) {
		line := s.text[i:s.eol(i)]
		lead := len(line) - len(strings.TrimLeft(line, " "))
		if lead == len(line) && (indent < 0 || lead <= indent) {
			if keep {
				end = s.eol(i)
			}
			continue
		}
		if indent < 0 {
			if indent = lead - leadOf(n.Value); strings.Trim(n.Value, "\n ") == "" || indent < 1 {
				break
			}
		}
		if lead < indent {
			break
		}
		end = s.eol(i)
	}
	return end, nil
}

// leadOf returns how many spaces the first line of text begins with that holds anything else.
func leadOf(text string) int {
	for line := range strings.SplitSeq(text, "\n") {
		if rest := strings.TrimLeft(line, " "); rest != "" {
			return len(line) - len(rest)
		}
	}
	return 0
}
