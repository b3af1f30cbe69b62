package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

var samples = filepath.Join("..", "..", "docs", "samples")

// sample returns the text of one sample.
func sample(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// applyStrictly is what a person does with a sample.
func applyStrictly(t *testing.T, text string) (string, error) {
	t.Helper()
	return world.KubectlInput(t.Context(), cluster.Admin, text, "apply", "--server-side", "--validate=strict", "-f", "-")
}

func TestTheSamplesAreTaken(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			out, err := applyStrictly(t, sample(t, filepath.Base(file)))
			if err != nil || !strings.Contains(out, "serverside-applied") {
				t.Errorf("kubectl says %q: %v", out, err)
			}
		})
	}
}

func TestAMistypedFieldIsNamed(t *testing.T) {
	text := strings.Replace(sample(t, "gittarget.yaml"), "\n  path:", "\n  folder:", 1)
	if out, err := applyStrictly(t, text); err == nil || !strings.Contains(out, `.spec.folder: field not declared in schema`) {
		t.Errorf("kubectl says %q: %v", out, err)
	}
}

// The samples are where people look a field up first, so every field of a spec is in the sample of its kind.
func TestTheSamplesShowEveryField(t *testing.T) {
	shown := map[string]bool{}
	for kind := range full {
		o := map[string]any{}
		text := sample(t, strings.ToLower(kind)+".yaml")
		if err := yaml.NewYAMLToJSONDecoder(strings.NewReader(text)).Decode(&o); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var walk func(path string, v any)
		walk = func(path string, v any) {
			shown[path] = true
			switch v := v.(type) {
			case map[string]any:
				for key, below := range v {
					walk(path+"."+key, below)
				}
			case []any:
				for _, below := range v {
					walk(path+"[]", below)
				}
			}
		}
		walk(kind+".spec", o["spec"])
	}
	for _, f := range fields(t) {
		if strings.HasPrefix(f.path, "spec") && !shown[f.String()] {
			t.Errorf("no sample has %s", f)
		}
	}
}
