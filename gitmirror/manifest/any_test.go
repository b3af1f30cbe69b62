package manifest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pen writes a random document the way people do: mixed quotes, comments, blank lines, flow and block style.
type pen struct {
	*rapid.T
	strings.Builder
	indent, dash int
}

func (p *pen) one(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(p.T, label)
}

// rest ends a line, now and then with a comment.
func (p *pen) rest() {
	p.WriteString(p.one("rest", "\n", "\n", "\n", " # why\n", "  #\n", " \n"))
}

// between writes what may stand between two members at column.
func (p *pen) between(column int) {
	switch p.one("between", "", "", "", "blank", "comment", "far comment") {
	case "blank":
		p.WriteString("\n")
	case "comment":
		fmt.Fprintf(p, "%s# - about: [what] comes\n", spaces(column))
	case "far comment":
		p.WriteString("# far: left\n")
	}
}

func (p *pen) scalar() string {
	return p.one("scalar", "1", "0400", "true", "plain text", "'it''s'", `"say \"#\" \u00e9"`, "a:b", "ünï", "~", `""`, "1.5", "-x", "x # not", "'#'")
}

func (p *pen) flow(depth int) string {
	switch n := rapid.IntRange(0, 3).Draw(p.T, "flow"); {
	case depth == 0 || n == 0:
		return p.one("flow scalar", "1", "a b", `"q, ]"`, "'it''s }'", "1m")
	case n == 1:
		return "[" + p.flow(depth-1) + p.one("comma", ", ", ",", " , ") + p.flow(depth-1) + p.one("end", "]", " ]", ", ]")
	case n == 2:
		return "[{name: a, v: " + p.flow(depth-1) + "}, {\"name\": 'b'}]"
	}
	return "{" + p.one("open", "", " ") + "k: " + p.flow(depth-1) + ", \"l m\": " + p.flow(depth-1) + p.one("end", "}", " }")
}

// value writes what follows "key:" at column, or a dash when inner is where the element's keys stand.
func (p *pen) value(column, depth int) {
	switch kind := p.one("kind", "scalar", "scalar", "map", "map", "list", "named", "flow", "block", "null", "folded"); {
	case kind == "null":
		p.rest()
	case kind == "flow":
		p.WriteString(" " + p.flow(2))
		p.rest()
	case kind == "block":
		p.WriteString(" " + p.one("header", "|", "|-", ">", ">-", "|+", "| # script"))
		p.WriteString("\n" + spaces(column+p.indent) + "#!/bin/sh\n\n" + spaces(column+p.indent+1) + "k: v\n" + spaces(column+p.indent) + "end\n")
	case kind == "folded":
		quote := p.one("folded", "", "'", `"`)
		p.WriteString(" " + quote + "one\n\n" + spaces(column+p.indent) + "two" + quote)
		p.rest()
	case kind == "scalar" || depth == 0:
		p.WriteString(" " + p.scalar())
		p.rest()
	case kind == "map":
		p.rest()
		p.mapping(column+p.indent, depth-1, "")
	case kind == "list":
		p.rest()
		for range rapid.IntRange(1, 3).Draw(p.T, "elements") {
			p.WriteString(spaces(column+p.dash) + "- " + p.scalar())
			p.rest()
		}
	case kind == "named":
		p.rest()
		for i := range rapid.IntRange(1, 3).Draw(p.T, "elements") {
			p.between(column + p.dash)
			p.WriteString(spaces(column+p.dash) + "- ")
			p.mapping(column+p.dash+2, depth-1, fmt.Sprintf("name: e%d", i))
		}
	}
}

// mapping writes a block mapping at column, the first line where the pen is when it begins with first.
func (p *pen) mapping(column, depth int, first string) {
	if first != "" {
		p.WriteString(first)
		p.rest()
	}
	for i := range rapid.IntRange(1, 3).Draw(p.T, "members") {
		p.between(column)
		key := []string{"a", "b.c/d", `"e f"`}[i]
		p.WriteString(spaces(column) + key + ":")
		p.value(column, depth)
	}
}

// TestEditHoldsForAnyDocument edits documents as people write them, with no part of Edit in the verdict: without
// anchors and tags every change has a home, and only the lines of the member that changed may differ.
func TestEditHoldsForAnyDocument(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pen{T: t, indent: rapid.SampledFrom([]int{2, 4}).Draw(t, "indent"), dash: rapid.SampledFrom([]int{0, 2}).Draw(t, "dash")}
		p.WriteString(p.one("begin", "", "---\n", "# licence\n---\n") + "kind: X\nspec:\n")
		p.mapping(p.indent, 3, "")
		text := p.String()
		if p.one("end", "", "", "no line break", "comment") == "no line break" {
			text = strings.TrimRight(text, "\n")
		}
		if rapid.Bool().Draw(t, "CRLF") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		chunks, err := split([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		index := len(chunks) - 1
		old, err := decode(chunks[index])
		if err != nil {
			t.Fatalf("the pen slipped: %v\n%s", err, text)
		}
		all := paths(old["spec"], Path{{Key: "spec"}})
		c := Change{Path: all[rapid.IntRange(0, len(all)-1).Draw(t, "path")], Value: rapid.SampledFrom([]any{
			"new", "yes", int64(7), true, nil, "two\nlines\n", "two\n lines", " odd\n", map[string]any{"n": "m", "o": []any{"p\nq\n"}}, []any{"1", int64(1)},
			map[string]any{}, []any{}, []any{map[string]any{"name": "e1", "w": "v"}, map[string]any{"name": "e0"}},
		}).Draw(t, "value")}
		was, _ := lookup(old, c.Path)
		if last := c.Path[len(c.Path)-1]; last.Name != "" && !isMap(c.Value) || last.Key == "name" {
			return // an element is a mapping, and its name is what it is found by
		}
		switch verb := rapid.SampledFrom([]string{"set", "set", "remove", "add", "append"}).Draw(t, "verb"); {
		case verb == "remove":
			c.Value, c.Remove = nil, true
		case verb == "add" && (isMap(was) || was == nil):
			c.Path = c.Path.with(Step{Key: "added"})
		case verb == "append" && was != nil && isNamed(was):
			c.Path = c.Path.with(Step{Name: "added"})
			c.Value, c.After = map[string]any{"name": "added", "v": c.Value}, rapid.SampledFrom([]string{"", "e0", "e1", "gone"}).Draw(t, "after")
		}
		got, err := Edit([]byte(text), index, []Change{c})
		if err != nil {
			if strings.Contains(err.Error(), "comment behind it and no line of its own") || strings.Contains(err.Error(), unendedWhy) {
				return
			}
			t.Fatalf("%s: %v\n%s", c.Path, err, text)
		}
		after, err := split(got)
		if err != nil || len(after) != len(chunks) || index > 0 && !bytes.Equal(after[0], chunks[0]) {
			t.Fatalf("the document before it changed: %v\n%s", err, got)
		}
		for _, c := range expand(old, c) {
			if _, err := apply(old, c, 0); err != nil {
				t.Fatal(err)
			}
		}
		now, err := decode(after[index])
		if err != nil || !sameValue(old, now) {
			t.Fatalf("%s: %v\n%s\nbecame\n%s", c.Path, err, text, got)
		}
		checkOutside(t, string(chunks[index]), string(after[index]), c, was)
	})
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

func isNamed(v any) bool { list, ok := v.([]any); return ok && len(list) > 0 && named(list) }

// checkOutside says that the lines outside the member that changed are the same, and that a comment or blank line
// outside the value itself is not lost.
func checkOutside(t *rapid.T, before, after string, c Change, was any) {
	root, err := parseNode([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	member := c.Path
	if last := member[len(member)-1]; last.Key == "added" || last.Name == "added" || c.Remove {
		member = member[:len(member)-1] // an empty collection may be left, or filled
	}
	first, next := span(root, member)
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	if first > len(b) || !slices.Equal(a[:first-1], b[:first-1]) {
		t.Fatalf("%s: lines before line %d changed:\n%s\nbecame\n%s", c.Path, first, before, after)
	}
	if next > first {
		tail := a[next-1:]
		if len(tail) > len(b) || !slices.Equal(tail, b[len(b)-len(tail):]) {
			t.Fatalf("%s: lines from line %d on changed:\n%s\nbecame\n%s", c.Path, next, before, after)
		}
	}
	if !isCollection(was) && !isCollection(c.Value) && !c.Remove {
		if x, y := strings.Count(before, "# far: left"), strings.Count(after, "# far: left"); x != y {
			t.Fatalf("%s: %d far comments became %d:\n%s\nbecame\n%s", c.Path, x, y, before, after)
		}
		if x, y := strings.Count(before, "# why"), strings.Count(after, "# why"); x != y {
			t.Fatalf("%s: %d comments became %d:\n%s\nbecame\n%s", c.Path, x, y, before, after)
		}
	}
}
