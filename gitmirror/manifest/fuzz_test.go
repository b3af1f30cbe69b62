package manifest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// paths returns the path of every member of v, parents first.
func paths(v any, p Path) []Path {
	var out []Path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at := p.with(Step{Key: k})
			out = append(append(out, at), paths(v[k], at)...)
		}
	case []any:
		for _, e := range v {
			if name := nameOf(e); name != "" {
				at := p.with(Step{Name: name})
				out = append(append(out, at), paths(e, at)...)
			}
		}
	}
	return out
}

// span returns the first line of the member at p, and the line on which the next one begins; counted from 1, 0: none.
func span(root *yaml.Node, p Path) (first, next int) {
	var order []*yaml.Node
	var list func(n *yaml.Node)
	list = func(n *yaml.Node) {
		order = append(order, n)
		for _, c := range n.Content {
			list(c)
		}
	}
	list(root)
	n, begin := root, root
	for _, step := range p {
		at, err := find(n, step)
		if err != nil || at < 0 {
			break
		}
		begin = n.Content[at]
		if n.Kind == yaml.MappingNode {
			begin = n.Content[at-1]
		}
		n = n.Content[at]
	}
	last := n
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
	if i := slices.Index(order, last); i+1 < len(order) {
		next = order[i+1].Line
	}
	return begin.Line, next
}

func FuzzEdit(f *testing.F) {
	goldens, _ := filepath.Glob("testdata/edit/*/before.yaml")
	for i, g := range goldens {
		f.Add(file(f, g), byte(0), byte(i), byte(i), "text")
	}
	f.Add([]byte("kind: X\nspec:\n  a: |\n    x\n  b: 1\n"), byte(0), byte(3), byte(1), "two\nlines\n")
	f.Fuzz(func(t *testing.T, before []byte, index, pick, verb byte, text string) {
		if len(before) > 4096 || len(text) > 512 {
			return
		}
		chunks, err := split(before)
		if err != nil || int(index) >= len(chunks) {
			return
		}
		chunk := bytes.TrimPrefix(chunks[index], bom)
		old, err := decode(chunk)
		if err != nil {
			return
		}
		all := paths(old, nil)
		if len(all) == 0 {
			return
		}
		c := Change{Path: all[int(pick)%len(all)], Value: strings.ToValidUTF8(text, "?")}
		was, _ := lookup(old, c.Path)
		switch verb % 6 {
		case 0:
			c.Value = int64(pick)
		case 1:
			c.Value = map[string]any{"k": c.Value, "l": []any{c.Value, int64(1)}}
		case 2:
			c.Value, c.Remove = nil, true
		case 3:
			c.Path = c.Path.with(Step{Key: "added"})
		case 4:
			c.Path = c.Path.with(Step{Name: "added"})
			c.Value = map[string]any{"name": "added", "v": c.Value}
		}
		after, err := Edit(before, int(index), []Change{c})
		if err != nil {
			return
		}
		got, err := split(after)
		if err != nil || len(got) != len(chunks) {
			t.Fatalf("%v: %d documents of %d\n%s", err, len(got), len(chunks), after)
		}
		for i := range got {
			if i != int(index) && !bytes.Equal(got[i], chunks[i]) {
				t.Errorf("document %d changed", i)
			}
		}
		edited := bytes.TrimPrefix(got[index], bom)
		now, err := decode(edited)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range expand(old, c) {
			if _, err := apply(old, c, 0); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(old, now); diff != "" {
			t.Fatalf("-want +got:\n%s\n%s", diff, after)
		}
		checkLines(t, string(chunk), string(edited), c, was)
	})
}

// checkLines says that the lines before and after the member at c.Path are the same, byte for byte.
func checkLines(t *testing.T, before, after string, c Change, was any) {
	if strings.ContainsAny(strings.ReplaceAll(before, "\r\n", ""), "\r\u0085\u2028\u2029") {
		return // lines that strings.Split does not know
	}
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
		t.Errorf("lines before line %d changed:\n%s", first, cmp.Diff(a, b))
	}
	if next > first {
		tail := a[next-1:]
		if len(tail) > len(b) || !slices.Equal(tail, b[len(b)-len(tail):]) {
			t.Errorf("lines from line %d on changed:\n%s", next, cmp.Diff(a, b))
		}
	}
	if _, isText := was.(string); !isText && was != nil && !isCollection(was) && !isCollection(c.Value) && !c.Remove && !strings.Contains(after, "|") {
		if changed := changedLines(a, b); changed > 1 {
			t.Errorf("one scalar, %d lines:\n%s", changed, cmp.Diff(a, b))
		}
	}
}

// changedLines counts lines that differ; all of them when their number does.
func changedLines(a, b []string) int {
	if len(a) != len(b) {
		return len(a)
	}
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte(`{"a":1,"l":[{"name":"x","v":1},{"name":"y"}]}`), []byte(`{"l":[{"name":"z"},{"name":"y","v":[1]}],"b":{}}`))
	f.Add([]byte(`{"a":{"b":null}}`), []byte(`{"a":[{"name":"x"}]}`))
	f.Add([]byte(`{"a":[{"name":"x"},{"name":"y"}]}`), []byte(`{"a":[{"name":"y"},{"name":"x"}]}`))
	f.Fuzz(func(t *testing.T, oldText, newText []byte) {
		var old, new map[string]any
		if json.Unmarshal(oldText, &old) != nil || json.Unmarshal(newText, &new) != nil || old == nil || new == nil {
			return
		}
		changes := Diff(old, new)
		if again := Diff(old, new); !cmp.Equal(changes, again) {
			t.Errorf("the order is not fixed:\n%s", cmp.Diff(changes, again))
		}
		if rest := Diff(new, new); len(rest) > 0 {
			t.Errorf("a state differs from itself: %v", rest)
		}
		plainly, _ := copyValue(old).(map[string]any)
		merged, _ := copyValue(old).(map[string]any)
		for _, c := range changes {
			if _, err := apply(plainly, c, 0); err != nil {
				t.Fatal(err)
			}
			for _, c := range expand(merged, c) {
				if _, err := apply(merged, c, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !sameValue(plainly, new) {
			t.Errorf("%v made %v, want %v", changes, plainly, new)
		}
		if !sameMeaning(nil, merged, new) {
			t.Errorf("%v made %v of the same document, want %v", changes, merged, new)
		}
	})
}

func FuzzNewFilePath(f *testing.F) {
	f.Add("apps", "apps", "team-a", "web", "deployments")
	f.Add("../..", "..", "../../etc", "../passwd", "a/b")
	f.Add(".", "", "", ".git/config", "x")
	f.Fuzz(func(t *testing.T, folder, group, namespace, name, resource string) {
		got, err := NewFilePath(folder, Identity{Group: group, Namespace: namespace, Name: name}, resource)
		if err != nil {
			return
		}
		inside, err := filepath.Rel(folder, got)
		if err != nil || !fs.ValidPath(got) || strings.HasPrefix(inside, "..") || strings.Count(inside, "/") != 3 {
			t.Errorf("%s is not four steps inside %s", got, folder)
		}
		for s := range strings.SplitSeq(inside, "/") {
			if strings.HasPrefix(s, ".") || len(s) > 255 || strings.ContainsAny(s, "\\:\x00") {
				t.Errorf("%s has a bad step %q", got, s)
			}
		}
	})
}
