package manifest

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the goldens under testdata")

// at reads a path as Path.String writes it.
func at(t testing.TB, text string) Path {
	t.Helper()
	var p Path
	for text != "" {
		switch {
		case strings.HasPrefix(text, `["`):
			quoted, err := strconv.QuotedPrefix(text[1:])
			if err != nil {
				t.Fatalf("path %s: %v", text, err)
			}
			key, _ := strconv.Unquote(quoted)
			p, text = append(p, Step{Key: key}), text[len(quoted)+2:]
		case text[0] == '[':
			name, rest, _ := strings.Cut(text[1:], "]")
			p, text = append(p, Step{Name: name}), rest
		default:
			text = strings.TrimPrefix(text, ".")
			n := strings.IndexAny(text+".", ".[")
			p, text = append(p, Step{Key: text[:n]}), text[n:]
		}
	}
	return p
}

// edits is a changes.json: which document, and its changes with paths as people write them.
type edits struct {
	Document int
	Changes  []struct {
		Path   string
		Value  any
		Remove bool
		Old    any
		After  string
	}
}

func (e edits) changes(t testing.TB) []Change {
	var out []Change
	for _, c := range e.Changes {
		out = append(out, Change{Path: at(t, c.Path), Value: c.Value, Remove: c.Remove, Old: c.Old, After: c.After})
	}
	return out
}

func TestEditKeepsEveryByteNoChangeNames(t *testing.T) {
	folders, err := filepath.Glob("testdata/edit/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, folder := range folders {
		t.Run(strings.ReplaceAll(filepath.Base(folder), "_", " "), func(t *testing.T) {
			before := file(t, folder, "before.yaml")
			var e edits
			if err := json.Unmarshal(file(t, folder, "changes.json"), &e); err != nil {
				t.Fatal(err)
			}
			got, err := Edit(before, e.Document, e.changes(t))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(filepath.Join(folder, "after.yaml"), got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(file(t, folder, "after.yaml")), string(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			again, err := Edit(got, e.Document, e.changes(t))
			if err != nil || string(again) != string(got) {
				t.Errorf("the second time is not nothing: %v\n%s", err, cmp.Diff(string(got), string(again)))
			}
		})
	}
}

func file(t testing.TB, elements ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEditRefusesAChangeWithoutAnExactHome(t *testing.T) {
	for _, row := range []struct {
		says, before, path string
		remove             bool
		names              string
	}{
		{"below an alias", "kind: X\na: &a {b: 1}\nspec: *a\n", "spec.b", false, "spec.b"},
		{"below an anchor, which an alias may share", "kind: X\nspec: &a\n  b: 1\n", "spec.b", false, "spec.b"},
		{"an alias itself", "kind: X\na: &a 1\nspec: *a\n", "spec", false, "spec"},
		{"a key that a merge key brings", "kind: X\na: &a {b: 1}\nspec:\n  <<: *a\n  c: 1\n", "spec.b", false, "spec.b"},
		{"a key that a merge key brings is not removed", "kind: X\na: &a {b: 1}\nspec:\n  <<: *a\n  c: 1\n", "spec.b", true, "spec.b"},
		{"a key whose removal would bring the merge key's own back", "kind: X\na: &a {b: 1}\nspec:\n  <<: *a\n  b: 2\n", "spec.b", true, "spec.b"},
		{"what holds an anchor is not removed", "kind: X\na: {b: &b 1}\nspec: *b\n", "a", true, "a"},
		{"an element that Git lacks has no insides", "kind: X\nspec:\n- name: a\n", "spec[b].image", false, "spec[b]"},
		{"an element whose name is there twice", "kind: X\nspec:\n- name: a\n- name: a\n", "spec[a].image", false, "spec[a]"},
		{"below a text", "kind: X\nspec: text\n", "spec.b", false, "spec.b"},
		{"the kind", "kind: X\n", "kind", false, "kind"},
		{"the name", "kind: X\nmetadata:\n  name: a\n", "metadata.name", false, "metadata.name"},
		{"beside a number as a key, which may be the same key", "kind: X\nspec:\n  00: 1\n", "spec.b", false, "spec.b"},
		{"below a tag", "kind: X\nspec: !!map\n  b: 1\n", "spec.b", false, "spec.b"},
		{"a key with a question mark", "kind: X\n? spec\n: {b: 1}\n", "spec", false, "spec"},
	} {
		t.Run(row.says, func(t *testing.T) {
			got, err := Edit([]byte(row.before), 0, []Change{{Path: at(t, row.path), Value: "new", Remove: row.remove}})
			if !errors.Is(err, ErrNoExactHome) || !strings.HasPrefix(err.Error(), row.names+" ") {
				t.Errorf("Edit = %q, %v; want ErrNoExactHome naming %s", got, err, row.names)
			}
		})
	}
}

func TestEditRefusesADocumentWithAKeyTwice(t *testing.T) {
	for says, before := range map[string]string{
		"the key itself":            "kind: X\nspec: {b: 1, b: 1}\n",
		"a key elsewhere":           "kind: X\nspec: {b: 1}\nother: {c: 1, c: 2}\n",
		"the key, through an alias": "kind: X\nalso: &b b\nspec:\n  *b : 1\n",
	} {
		if got, err := Edit([]byte(before), 0, []Change{{Path: at(t, "spec.b"), Value: 2}}); err == nil {
			t.Errorf("%s: became\n%s", says, got)
		}
	}
}

func TestIdentityStringIsWhatPeopleRead(t *testing.T) {
	for want, id := range map[string]Identity{
		"apps/Deployment team-a/web": webID,
		"ConfigMap team-a/web":       {Version: "v1", Kind: "ConfigMap", Namespace: "team-a", Name: "web"},
		"Namespace team-a":           {Version: "v1", Kind: "Namespace", Name: "team-a"},
	} {
		if got := id.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPathStringIsWhatPeopleWrite(t *testing.T) {
	for _, text := range []string{"spec.containers[web].image", `metadata.annotations["a.b/c"]`, `data["a b"].c`} {
		if got := at(t, text).String(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}
