package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	deploymentText = `# the controller
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kustomize-controller
spec:
  template:
    metadata:
      labels: {app: kustomize-controller}
    spec:
      containers: [{name: manager, image: "host:5000/kustomize-controller", args: [--watch-label-selector=env=prod]}]
`
	configText = `# not the injector's business
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {b:   c}
`
	webText = `apiVersion: v1
kind: Pod
metadata: {generateName: web-, namespace: web}
spec: {containers: [{name: web, image: nginx}]}
`
)

// injected runs holdfast inject on text from standard input.
func injected(t *testing.T, text string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), append([]string{"inject", "-f", "-"}, args...), strings.NewReader(text), &o, &e)
	return code, o.String(), e.String()
}

func TestAPatchFitsTheDocumentItIsFor(t *testing.T) {
	list := `{"kind":"List","items":[{"kind":"Service"},` + asJSON(t, deploymentText) + `,{"kind":"PodList","items":[{"metadata":{"name":"x"}}]}]}`
	for name, row := range map[string]struct{ text, path, line string }{
		"a workload": {deploymentText, "/spec/template/spec/initContainers", "Deployment kustomize-controller: a holder is added beside kustomize-controller in namespace gitops"},
		"a template": {strings.Replace(strings.Replace(strings.Replace(deploymentText, "spec:\n  template", "template", 1), "Deployment", "PodTemplate", 1), "apps/v1", "v1", 1),
			"/template/spec/initContainers", "PodTemplate kustomize-controller: a holder is added"},
		"one of a list": {list, "/items/1/spec/template/spec/initContainers", "Pod x: left as it is (NotRecognised): it is not a pod of"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := injected(t, row.text, "-n", "gitops")
			var patch []struct{ Op, Path string }
			if err := json.Unmarshal([]byte(out), &patch); err != nil {
				t.Fatalf("%v: %s%s", err, out, errs)
			}
			if code != exitDone || len(patch) != 2 || patch[1].Path != row.path || !strings.Contains(errs, row.line) {
				t.Errorf("exit code %d, %+v\n%s", code, patch, errs)
			}
		})
	}
}

func asJSON(t *testing.T, text string) string {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestYAMLIsEveryDocumentAndOnlyWhatGetsAHolderChanges(t *testing.T) {
	code, out, errs := injected(t, configText+"---\n# nothing\n---\n"+deploymentText+"---\n"+webText, "-o", "yaml", "--image=registry.example/holdfast:v1")
	documents := strings.Split(out, "---\n")
	if code != exitDone || len(documents) != 3 || documents[0] != configText || documents[2] != webText {
		t.Fatalf("exit code %d, %d documents\n%s%s", code, len(documents), out, errs)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(documents[1]), &d); err != nil {
		t.Fatal(err)
	}
	holders := d.Spec.Template.Spec.InitContainers
	if len(holders) != 1 || holders[0].Name != v1alpha1.HolderContainer || holders[0].Image != "registry.example/holdfast:v1" ||
		!strings.Contains(strings.Join(holders[0].Args, " "), "--watch-label-selector=env=prod") {
		t.Errorf("got %+v", holders)
	}
	if code, again, errs := injected(t, out, "-o", "yaml"); code != exitDone || again != out || !strings.Contains(errs, "AlreadyInjected") {
		t.Errorf("a second time: exit code %d\n%s%s", code, again, errs)
	}
}

func TestTheExitCodeSaysWhetherAHolderIsThere(t *testing.T) {
	optedOut := strings.Replace(deploymentText, "      labels:", "      annotations: {holdfast.dev/inject: disabled}\n      labels:", 1)
	shell := strings.Replace(deploymentText, "args: [", "command: [sh, -c], args: [", 1)
	for name, row := range map[string]struct {
		text string
		code int
		says string
	}{
		"it is added":                        {deploymentText, exitDone, "a holder is added"},
		"nothing in it runs pods":            {configText, exitNot, "there is no pod and no workload in it"},
		"nothing at all":                     {"", exitNot, "there is no pod and no workload in it"},
		"another program":                    {webText, exitNot, "Pod web/web-…: left as it is (NotRecognised)"},
		"it is not wanted":                   {optedOut, exitNot, "no pod in it gets a holder"},
		"it is not possible":                 {shell, exitNot, "1 of 1 get no holder and should have one"},
		"one of two is not possible":         {deploymentText + "---\n" + shell, exitNot, "1 of 2 get no holder and should have one"},
		"it is no YAML":                      {"a: b: c", exitNot, "read standard input: document 1 is no Kubernetes object"},
		"it is no object":                    {configText + "---\n[1, 2]\n", exitNot, "document 2 is no Kubernetes object"},
		"a pod whose fields are of no type":  {strings.Replace(webText, "nginx", "[1]", 1), exitNot, "Pod web/web-…: read the pod"},
		"an annotation that is out of place": {strings.Replace(optedOut, "disabled", "'false'", 1), exitDone, `warning: annotation holdfast.dev/inject: "false" means nothing`},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, errs := injected(t, row.text); code != row.code || !strings.Contains(errs, row.says) {
				t.Errorf("exit code %d, %s; want %d, %s", code, errs, row.code, row.says)
			}
		})
	}
}

func TestNoDocumentAndNoDigitIsLost(t *testing.T) {
	pod := asJSON(t, strings.Replace(webText, "web-,", "web-, annotations: {a: b}, generation: 9007199254740993,", 1))
	deployment := strings.Replace(deploymentText, "  name: kustomize-controller\n", "  name: kustomize-controller\n  generation: 9007199254740993\n", 1)
	code, out, errs := injected(t, pod+"\n"+pod+asJSON(t, deployment)+"\n---\n"+deployment, "-o=yaml")
	if n := strings.Count(out, "9007199254740993"); code != exitDone || n != 4 || strings.Count(out, "---\n") != 3 {
		t.Errorf("exit code %d, %d of 4 numbers are as they were in\n%s%s", code, n, out, errs)
	}
}

func TestWhatAFileSaysInThePlaceOfANameMovesNoCursor(t *testing.T) {
	_, _, errs := injected(t, `{"kind":"Pod","metadata":{"name":"a\u001b[2J\r\nPod b: a holder is added"},"spec":{"containers":[{"name":"c\u001b[1m","image":"d"}]}}`)
	if strings.ContainsAny(errs, "\x1b\r") || strings.Count(errs, "\n") != 2 {
		t.Errorf("got %q", errs)
	}
}

func TestAnInputWithoutAnEndIsNotReadForEver(t *testing.T) {
	for arg, want := range map[string]string{"--filename=/dev/zero": "read /dev/zero: ", "--policy=/dev/zero": "read the policy /dev/zero: "} {
		if code, _, errs := injected(t, deploymentText, arg); code != exitNot || !strings.Contains(errs, want+"it has more than 16 MiB") {
			t.Errorf("%s: exit code %d, %.300s", arg, code, errs)
		}
	}
	endless, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"inject", "-f", "-"}, endless, &out, &errs); code != exitNot || !strings.Contains(errs.String(), "read standard input: it has more than 16 MiB") {
		t.Errorf("exit code %d, %.300s", code, errs.String())
	}
}

func TestThePolicyIsTheInjectors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]string{
		"image: registry.example/a:v1\nargs: [--log-level=DEBUG]": `"registry.example/b:v1"`,
		"image: registry.example/a:v1\nflux: {enabled: false}":    "FlavourOff",
		"image: registry.example/a:v1\nrunAsUser: root":           "runAsUser",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, out, errs := injected(t, deploymentText, "--policy", file, "--image", "registry.example/b:v1"); !strings.Contains(out+errs, want) {
			t.Errorf("%s: got %s%s, want %s", text, out, errs, want)
		}
	}
	for arg, want := range map[string]string{"--policy=/none": "/none", "--image=a b": "--image: read the policy: image:", "-o=json": "it is either patch or yaml"} {
		if code, out, errs := injected(t, deploymentText, arg); code == exitDone || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %s", arg, code, errs)
		}
	}
}

// The example of the documentation is run as it stands there.
func TestTheExampleOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## holdfast inject\n")
	blocks := strings.Split(section, "```")
	if len(blocks) < 4 {
		t.Fatal("there is no example")
	}
	_, rest, _ := strings.Cut(blocks[1], "<<'EOM'\n")
	text, after, _ := strings.Cut(rest, "EOM\n")
	command, _, _ := strings.Cut(after, " > ")
	args := strings.Fields(command)
	if len(args) < 4 || args[0] != "bin/holdfast" || args[3] != "controller.yaml" {
		t.Fatalf("the example runs %q", args)
	}
	args[3] = filepath.Join(t.TempDir(), "controller.yaml")
	if err := os.WriteFile(args[3], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), args[1:], nil, &out, &errs); code != exitDone || "\n"+errs.String() != blocks[3] {
		t.Errorf("exit code %d\n%s\nthe page says\n%s", code, errs.String(), blocks[3])
	}
	var patch []map[string]any
	if err := json.Unmarshal(out.Bytes(), &patch); err != nil || len(patch) != 2 {
		t.Errorf("%v: %s", err, out.String())
	}
	var holder []corev1.Container
	if text, err := json.Marshal(patch[1]["value"]); err != nil || json.Unmarshal(text, &holder) != nil || holder[0].Image != "registry.example.org/holdfast:v1" {
		t.Errorf("the holder is %+v", holder)
	}
}
