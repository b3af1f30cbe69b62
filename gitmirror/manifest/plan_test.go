package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a folder has in place of a text for a file that is too large to read, and for a symbolic link.
const large, link = "(large)", "(link)"

// folder is a Tree of texts by path. Hashes are the texts themselves.
type folder struct {
	files map[string]string
	reads int
	err   error
}

func (f *folder) Files() ([]File, error) {
	var out []File
	for _, p := range slices.Sorted(maps.Keys(f.files)) {
		out = append(out, File{Path: p, Hash: f.files[p], Other: f.files[p] == link})
	}
	return out, f.err
}

func (f *folder) Read(path string) ([]byte, error) {
	f.reads++
	switch f.files[path] {
	case large:
		return nil, fmt.Errorf("%w: too large", ErrUnreadable)
	case link:
		return nil, errors.New("a link was read")
	}
	return []byte(f.files[path]), nil
}

const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: team-a\nspec:\n  replicas: 2\n"

var webID = Identity{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "team-a", Name: "web"}

func scaleTo(t testing.TB, n int) Intent {
	return Intent{Object: webID, Resource: "deployments", Changes: []Change{{Path: at(t, "spec.replicas"), Value: n}}}
}

// create wants a new file for web, or for the object with the given name.
func create(name string) Intent {
	id := webID
	id.Name = name
	return Intent{Object: id, Resource: "deployments", Create: true, Whole: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": "team-a"}, "spec": map[string]any{"replicas": 2}}}
}

// huge is create for an object with more text than a file may have.
func huge(name string) Intent {
	in := create(name)
	in.Whole["data"] = strings.Repeat("x", maxFileBytes)
	return in
}

// made wants web as somebody has just made it.
func made() Intent {
	in := create("web")
	in.Made = true
	return in
}

func TestPlanWritesWhatIsLeftToWrite(t *testing.T) {
	newWeb := "apps/team-a/apps/deployments/web.yaml"
	scaled := strings.Replace(web, "2", "3", 1)
	for _, row := range []struct {
		says    string
		files   map[string]string
		intents []Intent
		want    map[string]string
		refused string // part of the only reason
	}{
		{"a change goes to the document where it lives", map[string]string{"apps/all.yaml": "kind: A\n---\n" + web}, []Intent{scaleTo(t, 3)},
			map[string]string{"apps/all.yaml": "kind: A\n---\n" + scaled}, ""},
		{"what Git already says is not written", map[string]string{"apps/web.yaml": web}, []Intent{scaleTo(t, 2)}, nil, ""},
		{"adopting an object writes nothing", map[string]string{"apps/web.yaml": web}, []Intent{create("web")}, nil, ""},
		{"a made object whose document says the same writes nothing", map[string]string{"apps/web.yaml": "# ours\n" + web}, []Intent{made()}, nil, ""},
		{"one whose document says something else is refused: which of the two is meant nobody knows", map[string]string{"apps/web.yaml": scaled}, []Intent{made()}, nil, "says something else"},
		{"one without a document gets a file", nil, []Intent{made()}, map[string]string{newWeb: web}, ""},
		{"a deletion is refused while there is a document", map[string]string{"apps/web.yaml": web}, []Intent{{Object: webID, Gone: true}}, nil, "stays in apps/web.yaml"},
		{"a deletion of what Git does not have is nothing to write", nil, []Intent{{Object: webID, Gone: true}}, nil, ""},
		{"intents for one document compose", map[string]string{"apps/web.yaml": web}, []Intent{scaleTo(t, 7), scaleTo(t, 3)}, map[string]string{"apps/web.yaml": scaled}, ""},
		{"another version of the group is the same object", map[string]string{"apps/web.yaml": strings.Replace(web, "v1", "v1beta1", 1)}, []Intent{scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": strings.Replace(scaled, "v1", "v1beta1", 1)}, ""},
		{"another group is another object", map[string]string{"apps/web.yaml": strings.Replace(web, "apps/v1", "apps.example/v1", 1)}, []Intent{scaleTo(t, 3)}, nil, "no document in this folder"},
		{"a document without a namespace is the object's", map[string]string{"apps/web.yaml": strings.Replace(web, "  namespace: team-a\n", "", 1)}, []Intent{scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": strings.Replace(scaled, "  namespace: team-a\n", "", 1)}, ""},
		{"a document with the namespace goes before one without", map[string]string{"apps/a.yaml": strings.Replace(web, "  namespace: team-a\n", "", 1), "apps/b.yaml": web},
			[]Intent{scaleTo(t, 3)}, map[string]string{"apps/b.yaml": scaled}, ""},
		{"JSON is found", map[string]string{"apps/web.json": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team-a"},"spec":{"replicas":2}}`},
			[]Intent{scaleTo(t, 3)}, map[string]string{"apps/web.json": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"team-a"},"spec":{"replicas":3}}`}, ""},
		{"a new object gets a file", nil, []Intent{create("web")}, map[string]string{newWeb: web}, ""},
		{"a new object is changed in the same plan", nil, []Intent{create("web"), scaleTo(t, 3)}, map[string]string{newWeb: scaled}, ""},
		{"what is no manifest is passed over", map[string]string{"apps/values.yaml": "replicas: 1\n", "apps/README.md": "{{", "apps/list.yaml": "- 1\n", "apps/empty.yaml": "# nothing\n"},
			[]Intent{create("web")}, map[string]string{newWeb: web}, ""},
		{"an object that left Git is refused", nil, []Intent{scaleTo(t, 3)}, nil, "no document in this folder"},
		{"an object with two documents is refused", map[string]string{"apps/a.yaml": web, "apps/b.yaml": web}, []Intent{scaleTo(t, 3)}, nil, "apps/a.yaml and another in apps/b.yaml"},
		{"an item of a List is refused", map[string]string{"apps/l.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(web), "\n", "\n  ")},
			[]Intent{scaleTo(t, 3)}, nil, "item of a List in apps/l.yaml"},
		{"an encrypted document is refused", map[string]string{"apps/web.yaml": web + "sops:\n  mac: ENC[x]\n"}, []Intent{scaleTo(t, 3)}, nil, "encrypted by SOPS"},
		{"a new object is refused while a file cannot be read, which may hold it", map[string]string{"apps/t.yaml": "{{ if .x }}\nkind: X\n"}, []Intent{create("web")}, nil, "apps/t.yaml"},
		{"a name from a template cannot be read", map[string]string{"apps/t.yaml": "apiVersion: v1\nkind: X\nmetadata:\n  name: {{ .x }}\n"}, []Intent{create("web")}, nil, "apps/t.yaml"},
		{"other objects go on beside a file that cannot be read", map[string]string{"apps/t.yaml": "{{ if .x }}\n", "apps/web.yaml": web}, []Intent{scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": scaled}, ""},
		{"other objects go on beside a file that is too large", map[string]string{"apps/dump.json": large, "apps/web.yaml": web}, []Intent{scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": scaled}, ""},
		{"a new object is refused beside one, which may hold it", map[string]string{"apps/dump.json": large}, []Intent{create("web")}, nil, "apps/dump.json"},
		{"and beside a link, which nobody follows B51", map[string]string{"apps/web.yaml": link}, []Intent{create("web")}, nil, "apps/web.yaml"},
		{"a path through a link is refused and stops no other object B51", map[string]string{"apps/team-a": link, "apps/web.yaml": web}, []Intent{create("db"), scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": scaled}, "apps/team-a exists"},
		{"an object whose file would be too large to read again is refused", nil, []Intent{huge("web")}, nil, "bigger than"},
		{"a taken path is refused", map[string]string{newWeb: "other: true\n"}, []Intent{create("web")}, nil, newWeb + " exists"},
		{"a path through a file is refused", map[string]string{"apps/team-a": "x"}, []Intent{create("web")}, nil, "apps/team-a exists"},
		{"a path that differs only in case is refused B51", map[string]string{"apps/Team-A/x": "x"}, []Intent{create("web")}, nil, "only in case"},
		{"two new objects that differ only in case are refused B51", nil, []Intent{create("web"), create("WEB")}, map[string]string{newWeb: web}, "only in case"},
		{"a Secret is refused", nil, []Intent{{Object: Identity{Kind: "Secret", Name: "a"}, Create: true}}, nil, "never written unencrypted"},
		{"a state that is another object is refused", nil, []Intent{{Object: webID, Resource: "deployments", Create: true, Whole: map[string]any{"kind": "X", "apiVersion": "v1"}}}, nil, "not the object"},
		{"one refusal stops no other", map[string]string{"apps/web.yaml": web}, []Intent{{Object: Identity{Kind: "ConfigMap", Name: "gone"}}, scaleTo(t, 3)},
			map[string]string{"apps/web.yaml": scaled}, "no document"},
	} {
		t.Run(row.says, func(t *testing.T) {
			got, err := NewIndex(10).Plan("apps", &folder{files: row.files}, row.intents)
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string]string{}
			for p, text := range got.Files {
				texts[p] = string(text)
			}
			if diff := cmp.Diff(row.want, texts); len(row.want)+len(texts) > 0 && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if wrote := len(got.Written) == 1; wrote != (len(row.want) > 0) {
				t.Errorf("written: %v", got.Written)
			}
			switch {
			case row.refused == "" && len(got.Refused) > 0:
				t.Errorf("refused: %v", got.Refused)
			case row.refused != "" && (len(got.Refused) != 1 || !strings.Contains(got.Refused[0].Reason, row.refused)):
				t.Errorf("refused: %v, want %q", got.Refused, row.refused)
			}
		})
	}
}

func TestPlanRefusesAFolderBuiltByKustomize(t *testing.T) {
	for _, name := range []string{"apps/kustomization.yaml", "apps/kustomization.yml", "apps/base/Kustomization"} {
		for _, text := range []string{"", link} {
			_, err := NewIndex(10).Plan("apps", &folder{files: map[string]string{name: text, "apps/web.yaml": web}}, []Intent{scaleTo(t, 3)})
			if !errors.Is(err, ErrKustomizeFolder) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: %v", name, text, err)
			}
		}
	}
}

func TestPlanFailsWhenItsFolderCannotBeRead(t *testing.T) {
	lost := errors.New("lost")
	if _, err := NewIndex(10).Plan("apps", &folder{err: lost}, nil); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"../x", "/x", "a/../.."} {
		if _, err := NewIndex(10).Plan(name, &folder{}, nil); err == nil {
			t.Errorf("%s is no folder of the repository", name)
		}
	}
}

func TestIndexReadsABlobOnceAndStaysBounded(t *testing.T) {
	ix, f := NewIndex(2), &folder{files: map[string]string{"a.yaml": web, "b.yaml": web + "---\nkind: A\n"}}
	for range 3 {
		if _, err := ix.Plan(".", f, nil); err != nil {
			t.Fatal(err)
		}
	}
	if f.reads != 2 {
		t.Errorf("%d reads of 2 blobs", f.reads)
	}
	for i := range 9 {
		f.files = map[string]string{"a.yaml": web + fmt.Sprint("# ", i)}
		if _, err := ix.Plan(".", f, nil); err != nil {
			t.Fatal(err)
		}
	}
	if ix.seen.Len() != 2 || ix.documents != 2 {
		t.Errorf("%d blobs, %d documents remembered", ix.seen.Len(), ix.documents)
	}
}

func TestScanIsBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for says, text := range map[string]string{
		"too big":                       strings.Repeat("#", maxFileBytes+1),
		"too many documents":            strings.Repeat("---\na: 1\n", maxDocuments+1),
		"too many items":                "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: X, metadata: {name: a}}\n", maxDocuments+1),
		"no UTF-8":                      "a: \xff\n",
		"a document behind a mere end":  "a: 1\n...\nb: 2\n",
		"a name longer than any may be": "apiVersion: v1\nkind: X\nmetadata:\n  name: " + strings.Repeat("a", 300),
	} {
		if docs, err := Scan([]byte(text)); err == nil {
			t.Errorf("%s: %d documents", says, len(docs))
		}
	}
	if _, err := Scan([]byte(bomb)); err != nil {
		t.Errorf("aliases are not expanded while scanning: %v", err)
	}
	if _, err := Edit([]byte(bomb), 0, []Change{{Path: at(t, "z"), Value: 1}}); err == nil {
		t.Error("aliases are expanded without bound")
	}
	if _, err := Edit([]byte("a: 1\na: 2\n"), 0, []Change{{Path: at(t, "a"), Value: 3}}); err == nil {
		t.Error("a repeated key is edited")
	}
	if _, err := Edit([]byte("a: 1\n"), 1, nil); err == nil {
		t.Error("a document that is not there is edited")
	}
}

func TestScanCountsEveryDocument(t *testing.T) {
	text := "# licence\n---\n%a: no directive\n"
	if _, err := Scan([]byte(text)); err == nil {
		t.Error("a directive inside a document parses")
	}
	text = "# licence\n---\n" + web + "---\n---\nx: |\n  --- no document\n --- nor this\n"
	if _, err := Scan([]byte(text)); err == nil {
		t.Error("half a document parses")
	}
	docs, err := Scan([]byte("# licence\n---\nx: |\n  ---\n---\n%YAML"[:20] + "\n--- # web\n" + web))
	if err != nil || len(docs) != 1 || docs[0].Index != 2 || docs[0].Identity != webID {
		t.Errorf("%+v, %v", docs, err)
	}
	docs, err = Scan([]byte("%YAML 1.1\n---\n" + web))
	if err != nil || len(docs) != 1 || docs[0].Index != 0 {
		t.Errorf("with a directive: %+v, %v", docs, err)
	}
}

func BenchmarkPlanInAFolderOf1000Files(b *testing.B) {
	f := &folder{files: map[string]string{}}
	for i := range 1000 {
		text := bytes.ReplaceAll(file(b, "testdata/edit/a_scalar_change_is_exactly_one_line_B52/before.yaml"), []byte("name: web "), fmt.Appendf(nil, "name: web-%d ", i))
		f.files[fmt.Sprintf("apps/team-%d/web-%d.yaml", i%20, i)] = string(text)
	}
	intent := Intent{Object: Identity{Group: "apps", Kind: "Deployment", Namespace: "team-a", Name: "web-500"}, Changes: scaleTo(b, 3).Changes}
	plan := func(b *testing.B, ix *Index) {
		if got, err := ix.Plan("apps", f, []Intent{intent}); err != nil || len(got.Files) != 1 {
			b.Fatalf("%v, %v", got, err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			plan(b, NewIndex(2000))
		}
	})
	b.Run("warm", func(b *testing.B) {
		ix := NewIndex(2000)
		plan(b, ix)
		for b.Loop() {
			plan(b, ix)
		}
	})
}
