package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Render returns obj as a new YAML document: apiVersion, kind and metadata first, the rest sorted. Strings that some
// reader would take for a boolean, a number, a date or null are quoted. What it returns has been read back and is obj.
func Render(obj map[string]any) ([]byte, error) {
	obj, _ = copyValue(obj).(map[string]any)
	if len(obj) == 0 {
		return nil, errors.New("render: the object is empty")
	}
	l := layout{indent: 2}
	var b strings.Builder
	for _, k := range keyOrder(obj, "apiVersion", "kind", "metadata") {
		if meta, ok := obj[k].(map[string]any); ok && k == "metadata" && len(meta) > 0 {
			b.WriteString("metadata:\n")
			for _, k := range keyOrder(meta, "name", "namespace", "labels", "annotations") {
				b.WriteString("  " + l.pair(k, meta[k], 2) + "\n")
			}
			continue
		}
		b.WriteString(l.pair(k, obj[k], 0) + "\n")
	}
	text := []byte(b.String())
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("render: the document would be bigger than %d bytes", maxFileBytes)
	}
	back, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("render: read back: %w", err)
	}
	if !sameValue(back, obj) {
		return nil, errors.New("render: the document would not mean the object")
	}
	return text, nil
}

// keyOrder returns the keys of m, those named first in front, the others sorted.
func keyOrder(m map[string]any, first ...string) []string {
	var keys []string
	for _, k := range first {
		if _, ok := m[k]; ok {
			keys = append(keys, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(first, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// layout is how a document is set, so that what is added looks like the rest.
type layout struct {
	indent int  // columns a mapping stands to the right of the key above it
	dash   int  // columns a list stands to the right of the key above it
	json   bool // the document is JSON
}

// pair returns "key: value" for a mapping at column; lines after the first are indented, the last has no line break.
func (l layout) pair(key string, value any, column int) string {
	return style{}.stringText(key) + ":" + l.after(value, column, style{}, "")
}

// after returns what follows "key:" at column, with comment kept on the key's own line.
func (l layout) after(value any, column int, st style, comment string) string {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			at := column + l.indent
			return comment + "\n" + spaces(at) + l.mapping(v, at)
		}
		return " {}" + comment
	case []any:
		if len(v) > 0 {
			at := column + l.dash
			return comment + "\n" + spaces(at) + l.list(v, at)
		}
		return " []" + comment
	case string:
		if literal(v) && st.quote == 0 {
			return " " + l.block(v, column+l.indent, comment)
		}
	}
	return " " + st.scalarText(value) + comment
}

// mapping returns the pairs of m at column; the first line is not indented.
func (l layout) mapping(m map[string]any, column int) string {
	var lines []string
	for _, k := range keyOrder(m) {
		lines = append(lines, l.pair(k, m[k], column))
	}
	return strings.Join(lines, "\n"+spaces(column))
}

// list returns the elements of list with their dashes at column; the first line is not indented.
func (l layout) list(list []any, column int) string {
	var lines []string
	for _, e := range list {
		lines = append(lines, l.element(e, column))
	}
	return strings.Join(lines, "\n"+spaces(column))
}

// element returns one list element with its dash at column; the first line is not indented.
func (l layout) element(e any, column int) string {
	switch e := e.(type) {
	case map[string]any:
		if len(e) > 0 {
			return "- " + l.mapping(e, column+2)
		}
	case []any:
		if len(e) > 0 {
			return "- " + l.list(e, column+2)
		}
	case string:
		if literal(e) {
			return "- " + l.block(e, column+2, "")
		}
	}
	return "- " + l.flow(e, style{flow: true})
}

// block returns s as a literal block whose lines stand at column.
func (l layout) block(s string, column int, comment string) string {
	header, body := "|", strings.TrimSuffix(s, "\n")
	if body == s {
		header = "|-"
	}
	var b strings.Builder
	b.WriteString(header + comment)
	for line := range strings.SplitSeq(body, "\n") {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(spaces(column) + line)
		}
	}
	return b.String()
}

// endsInBlock says whether v, set in block style, ends in a literal block.
func endsInBlock(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		keys := keyOrder(v)
		return len(keys) > 0 && endsInBlock(v[keys[len(keys)-1]])
	case []any:
		return len(v) > 0 && endsInBlock(v[len(v)-1])
	case string:
		return literal(v)
	}
	return false
}

// flow returns v on one line.
func (l layout) flow(v any, st style) string {
	st.flow, st.json = true, st.json || l.json
	inner := style{flow: true, json: st.json}
	switch v := v.(type) {
	case map[string]any:
		var pairs []string
		for _, k := range keyOrder(v) {
			pairs = append(pairs, inner.stringText(k)+": "+l.flow(v[k], inner))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, l.flow(e, inner))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	return st.scalarText(v)
}

func spaces(n int) string { return strings.Repeat(" ", n) }
