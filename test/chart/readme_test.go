package chart

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	helmcmd "helm.sh/helm/v4/pkg/cmd"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// recorder takes the place of a program and writes down what it is told: a word a line, and a blank line after each call.
const recorder = "#!/bin/sh\nprintf '%s\\n' \"${0##*/}\" \"$@\" '' >> \"$CALLS\"\n"

// calls are the programs that a block starts, with their arguments as the shell gives them, in a checkout's root.
func calls(t *testing.T, script string, env ...string) [][]string {
	t.Helper()
	dir := t.TempDir()
	for _, program := range []string{"helm", "kubectl"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(recorder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	record := filepath.Join(dir, "calls")
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	cmd.Env = append(env, "PATH="+dir, "CALLS="+record)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	content, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(string(content), "\n\n"), "\n\n") {
		all = append(all, strings.Split(call, "\n"))
	}
	return all
}

// helmMakes are the objects helm makes for these arguments of an install, which ends where there is a cluster.
func helmMakes(t *testing.T, args []string) []*unstructured.Unstructured {
	t.Helper()
	if args[0] != "install" {
		t.Fatalf("helm %v installs nothing", args)
	}
	args = slices.Concat([]string{"template", "--kube-version=v1.30.0"}, args[1:])
	t.Chdir(filepath.Join("..", ".."))
	var out bytes.Buffer
	cmd, err := helmcmd.NewRootCmd(&out, args, func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	cmd.SetArgs(args)
	cmd.SetErr(&out)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("helm %v: %v\n%s", args, err, &out)
	}
	return objects(t, out.String())
}

// The block at the beginning of the chart's README is all it takes: the image is the one that was pushed, and no pod waits for
// what nobody made.
func TestTheReadmeInstallsAsItIsPrinted(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(chartDir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindStringSubmatch(string(page))
	if block == nil {
		t.Fatal("there is no block")
	}
	run := calls(t, block[1], "IMAGE=registry.example.org/team/holdfast", "TAG=v9.9.9")
	if run[0][0] != "helm" {
		t.Fatalf("it begins with %v", run[0])
	}
	made := map[string]bool{}
	var pods []corev1.PodSpec
	for _, o := range helmMakes(t, run[0][1:]) {
		if ns := o.GetNamespace(); ns != "" && ns != install.Namespace && ns != "flux-system" {
			t.Errorf("%s %s is in %s", o.GetKind(), o.GetName(), ns)
		}
		made[o.GetKind()+" "+o.GetName()] = true
		template, there, err := unstructured.NestedMap(o.Object, "spec", "template", "spec")
		if err != nil || !there {
			continue
		}
		var pod corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
	}
	if len(pods) != 3 || !made["KubeProvider default"] {
		t.Fatalf("it makes %d pods, and of all objects %v", len(pods), made)
	}
	for _, pod := range pods {
		for _, c := range pod.Containers {
			if c.Image != "registry.example.org/team/holdfast:v9.9.9" {
				t.Errorf("%s is of image %s", c.Name, c.Image)
			}
		}
		for _, v := range pod.Volumes {
			switch {
			case v.Secret != nil && !made["Secret "+v.Secret.SecretName]:
				t.Errorf("%s waits for Secret %s", pod.Containers[0].Name, v.Secret.SecretName)
			case v.ConfigMap != nil && !made["ConfigMap "+v.ConfigMap.Name]:
				t.Errorf("%s waits for ConfigMap %s", pod.Containers[0].Name, v.ConfigMap.Name)
			}
		}
	}
	if !slices.Contains(run[0], "--wait") {
		t.Error("Flux's pods may be made anew before the injector runs")
	}
	want := [][]string{
		{"kubectl", "label", "namespace", "flux-system", v1alpha1.InjectLabel + "=" + v1alpha1.InjectEnabled},
		{"kubectl", "-n", "flux-system", "rollout", "restart", "deployment/kustomize-controller"},
		{"kubectl", "-n", "flux-system", "rollout", "status", "deployment/kustomize-controller"},
	}
	if !slices.EqualFunc(run[1:], want, slices.Equal) {
		t.Errorf("then it says %v, want %v", run[1:], want)
	}
}
