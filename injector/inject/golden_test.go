package inject

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what the goldens should say")

// Every folder of testdata is one sentence: a pod as it comes to a webhook, and what adds a holder to it or why it is left
// alone. Where no policy.yaml says otherwise, both controllers get holders, which no policy that is read can say yet.
func TestEveryPodOfTheGoldens(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join("testdata", "*", "pod.yaml"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range folders {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			pod := readPod(t, file)
			result, err := Inject(pod, "flux-system", goldenPolicy(t, folder), goldenRoom(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, filepath.Join(folder, "want.patch.json"), patchText(t, result.Patch))
			compare(t, filepath.Join(folder, "want.skip"), skipText(result))
			compare(t, filepath.Join(folder, "want.warnings"), lines(result.Warnings))
			if result.Skip == "" {
				checkPatched(t, pod, result)
			}
		})
	}
}

// goldenRoom is what the folder says its namespace allows, or everything.
func goldenRoom(t *testing.T, folder string) (r Room) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "room.yaml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &r)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return r
}

// goldenPolicy is what the folder says, or everything switched on.
func goldenPolicy(t *testing.T, folder string) Policy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "policy.yaml"))
	if os.IsNotExist(err) {
		p := DefaultPolicy()
		p.Image = "registry.example/holdfast:v1"
		p.ArgoCD.Enabled = true
		return p
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readPod(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func patchText(t *testing.T, patch []Operation) string {
	t.Helper()
	if patch == nil {
		return ""
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(patch); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func skipText(r Result) string {
	if r.Skip == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s\n", r.Skip, r.Why)
}

func lines(all []string) string {
	var out strings.Builder
	for _, line := range all {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// compare checks a golden; got "" means that there is no such file.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		var err error
		if got == "" {
			err = os.RemoveAll(file)
		} else {
			err = os.WriteFile(file, []byte(got), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); write it with -update:\n%s", filepath.Base(file), diff)
	}
}

// apply applies a patch with the library the API server applies it with.
func apply(t testing.TB, pod []byte, patch []Operation) []byte {
	t.Helper()
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := decoded.Apply(pod)
	if err != nil {
		t.Fatalf("the patch does not apply: %v\n%s", err, text)
	}
	return patched
}
