package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestReferencesAreThoseKubeletFinds(t *testing.T) {
	env := variables{
		{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)2"}, {Name: "A", Value: "$(B)3"},
		{Name: "NODE", Value: "before"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{}}, {Name: "ON", Value: "x$(NODE)"},
	}
	for text, want := range map[string]string{
		"plain":        "plain",
		"$(A)":         "123",
		"a$(B)c":       "a12c",
		"$$(A)":        "$(A)",
		"$$$(B)":       "$12",
		"$(A":          "$(A",
		"$A":           "$A",
		"$":            "$",
		"$()":          "?",
		"$(NONE)":      "?",
		"$(NODE)":      "?",
		"$(ON)":        "?",
		"$(B)$(NODE)":  "?",
		"cost: 5$, ok": "cost: 5$, ok",
	} {
		got, known := env.expand(text)
		if !known {
			got = "?"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := strings.Join(references("$(A)$$(B)$(C)$(D"), " "); got != "A C" {
		t.Errorf("references to %q", got)
	}
}

func TestVariablesComeWithThoseTheyAreMadeOf(t *testing.T) {
	c := &corev1.Container{Name: "manager", Env: []corev1.EnvVar{
		{Name: "UNRELATED", Value: "1"},
		{Name: "OTHER", Value: "$(UNRELATED)"},
		{Name: "HOST", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
		{Name: "ADDRESS", Value: "http://$(HOST):$(PORT)"},
		{Name: "HTTP_PROXY", Value: "$(ADDRESS)"},
		{Name: "HTTP_PROXY", Value: "$(HTTP_PROXY)/$(HTTP_PROXY)"},
		{Name: "HOLDFAST_NAMESPACE", Value: "elsewhere"},
		{Name: "CPUS", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
	}}
	env := copied(c, []string{"--shard=$(CPUS)", "$$(OTHER)", "$(HOLDFAST_NAMESPACE)"}, []string{"HTTP_PROXY", "NO_PROXY"})
	var names []string
	for _, e := range env {
		names = append(names, e.Name)
	}
	if got := strings.Join(names, " "); got != "HOST ADDRESS HTTP_PROXY HTTP_PROXY CPUS" {
		t.Errorf("copied %s", got)
	}
	if of := env[len(env)-1].ValueFrom.ResourceFieldRef.ContainerName; of != "manager" {
		t.Errorf("the CPUs are those of container %q", of)
	}
	if c.Env[7].ValueFrom.ResourceFieldRef.ContainerName != "" {
		t.Error("the controller's own container was changed")
	}
}
