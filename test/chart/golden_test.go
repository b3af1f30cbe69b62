package chart

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens anew")

// cases are the folders of testdata: values.yaml is what a person says, want.yaml what comes of it.
func cases(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("testdata", "*", "values.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// whole is a render as one text. The kinds are left out: they are generated files, and compared as such.
func whole(made map[string]string) string {
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(made)) {
		if path != "crds.yaml" {
			out.WriteString("# ==== " + path + "\n" + strings.Trim(made[path], "\n") + "\n")
		}
	}
	return out.String()
}

func TestRendersAreTheGoldens(t *testing.T) {
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			got := whole(mustRender(t, read(t, filepath.Join(dir, "values.yaml")), install))
			golden := filepath.Join(dir, "want.yaml")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("run go test . -update and review (-want +got):\n%s", diff)
			}
		})
	}
}

// B4: a render that makes certificates, or asks the cluster, is another one each time.
func TestRenderingTwiceChangesNothing(t *testing.T) {
	for _, dir := range cases(t) {
		v := read(t, filepath.Join(dir, "values.yaml"))
		if diff := cmp.Diff(mustRender(t, v, install), mustRender(t, v, install)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", dir, diff)
		}
		once := mustRender(t, v, upgrade)
		later := upgrade
		later.Revision = 7
		if diff := cmp.Diff(once, mustRender(t, v, later)); diff != "" {
			t.Errorf("%s, upgraded again (-first +second):\n%s", dir, diff)
		}
	}
	for path, content := range sources(t) {
		for _, never := range []string{"lookup ", "rand", "genCA", "genSelfSignedCert", "genSignedCert", "genPrivateKey", "uuidv4", "now", "htpasswd", "caBundle:"} {
			if strings.Contains(content, "{{"+never) || strings.Contains(content, "{{ "+never) || strings.Contains(content, "("+never) || never == "caBundle:" && strings.Contains(content, never) {
				t.Errorf("%s: %s", path, never)
			}
		}
	}
}

// sources are the templates as they are written.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, f := range load(t).Templates {
		found[f.Name] = string(f.Data)
	}
	return found
}

// An upgrade makes the same objects as an install, but for what makes one of them a hook.
func TestAnUpgradeMakesWhatAnInstallMade(t *testing.T) {
	for _, dir := range cases(t) {
		v := read(t, filepath.Join(dir, "values.yaml"))
		first, then := all(t, mustRender(t, v, install)), all(t, mustRender(t, v, upgrade))
		for name, o := range first {
			annotations := o.GetAnnotations()
			if o.GetKind() == "KubeProvider" {
				delete(annotations, "helm.sh/hook")
				delete(annotations, "helm.sh/hook-delete-policy")
				o.SetAnnotations(annotations)
			}
			if diff := cmp.Diff(o, then[name]); diff != "" {
				t.Errorf("%s, %s (-install +upgrade):\n%s", dir, name, diff)
			}
		}
		if len(first) != len(then) {
			t.Errorf("%s: %d objects at an install, %d at an upgrade", dir, len(first), len(then))
		}
	}
}

func TestOneTemplateIsOneObject(t *testing.T) {
	many := map[string]bool{
		"crds.yaml":                        true, // a new kind cannot be forgotten
		"gitmirror/rolebinding-reads.yaml": true, // one a namespace
	}
	for _, dir := range cases(t) {
		for path, content := range mustRender(t, read(t, filepath.Join(dir, "values.yaml")), install) {
			if strings.HasSuffix(path, ".yaml") && !many[path] && len(objects(t, content)) != 1 {
				t.Errorf("%s: %s makes %d objects", dir, path, len(objects(t, content)))
			}
		}
	}
}
