package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	yaml11 "sigs.k8s.io/yaml"
)

// misread are strings that some YAML reader takes for something else when they stand without quotes (B53), and strings
// that quoting itself could spoil.
var misread = []string{
	"yes", "No", "on", "OFF", "y", "N", "true", "False", "null", "~", "", "Null", "1e3", "0o17", "0x1F", "0b11", "1_000",
	"0123", "08", "-1", "+1", "1.", ".5", ".inf", "-.INF", ".NaN", "12:30", "190:20:30", "2001-01-01",
	"2001-12-14t21:59:43.10-05:00", "<<", "=", "- a", "a: b", "a #b", "#", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">",
	"{a}", "[a]", "'", `"`, `\n`, " a", "a ", "a:", "---", "...", "?", "a\tb", "\u0085", "\u2028x", "\ufeff", "\u0000",
	"日本", "👍", "1Gi", "1000m", "50%", "1k", "1M", "1s", "one\ntwo", "one\ntwo\n", "one\n\n", " one\ntwo", "one  \ntwo",
	"one\r\ntwo", "\tone\ntwo", "one\n\ttwo\n", "#!/bin/sh\n: x\n", "one\n---\ntwo\n", "nan", "Infinity", "é",
}

func TestEveryStringIsTheSameToEveryReaderB53(t *testing.T) {
	for _, text := range misread {
		t.Run(text, func(t *testing.T) {
			obj := map[string]any{"data": map[string]any{"k": text, "l": []any{text, map[string]any{text + "k": text}}}}
			want := obj
			doc, err := Render(obj)
			if err != nil {
				t.Fatal(err)
			}
			var old, new map[string]any
			if err := yaml11.Unmarshal(doc, &old); err != nil {
				t.Errorf("YAML 1.1: %v", err)
			}
			if err := yaml.Unmarshal(doc, &new); err != nil {
				t.Errorf("YAML 1.2: %v", err)
			}
			if diff := cmp.Diff(want, old); diff != "" {
				t.Errorf("YAML 1.1: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(want, new); diff != "" {
				t.Errorf("YAML 1.2: -want +got:\n%s", diff)
			}
			for says, before := range map[string]string{
				"plain": "kind: X\ndata:\n  k: old\n", "single": "kind: X\ndata:\n  k: 'old'\n", "double": "kind: X\ndata:\n  k: \"old\"\n",
				"flow": "kind: X\ndata: {k: old}\n", "JSON": `{"kind": "X", "data": {"k": "old"}}`, "block": "kind: X\ndata:\n  k: |\n    old\n  z: 1",
			} {
				doc, err := Edit([]byte(before), 0, []Change{{Path: at(t, "data.k"), Value: text}})
				if err != nil {
					t.Fatalf("%s: %v", says, err)
				}
				var new struct{ Data map[string]any }
				if err := yaml.Unmarshal(doc, &new); err != nil || new.Data["k"] != text {
					t.Errorf("%s: YAML 1.2 reads %q, %v from\n%s", says, new.Data["k"], err, doc)
				}
			}
		})
	}
}

func TestRenderBeginsWithWhatNamesTheObject(t *testing.T) {
	got, err := Render(map[string]any{
		"data": map[string]any{"run.sh": "#!/bin/sh\necho hi\n", "port": "8080"}, "kind": "ConfigMap", "apiVersion": "v1", "binaryData": map[string]any{},
		"metadata": map[string]any{"annotations": map[string]any{"a.b/c": "d"}, "namespace": "team-a", "name": "web", "extra": int64(1),
			"labels": map[string]any{"app": "web"}},
		"list": []any{map[string]any{"b": 1.5, "a": nil}, []any{int64(1), []any{}}, "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: team-a
  labels:
    app: web
  annotations:
    a.b/c: d
  extra: 1
binaryData: {}
data:
  port: "8080"
  run.sh: |
    #!/bin/sh
    echo hi
list:
- a: null
  b: 1.5
- - 1
  - []
- x
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNumbersAreReadBackAsTheyWere(t *testing.T) {
	for _, n := range []any{int64(-1), int64(1) << 62, 1e22, 1e-9, 0.1, float64(3), 123456789.25} {
		doc, err := Render(map[string]any{"n": n})
		if err != nil {
			t.Errorf("%v: %v", n, err)
		}
		var back map[string]any
		if err := yaml.Unmarshal(doc, &back); err != nil || !sameValue(back["n"], n) {
			t.Errorf("%v became %v in %s", n, back["n"], doc)
		}
	}
}
