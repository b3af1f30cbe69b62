package inject

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

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

// said writes variables as one line: a name, and the key it comes from if it does.
func said(env []corev1.EnvVar) string {
	var all []string
	for _, e := range env {
		text := e.Name
		switch from := e.ValueFrom; {
		case from == nil:
		case from.ConfigMapKeyRef != nil:
			text += fmt.Sprintf("<%s[%s]?%t", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key, *from.ConfigMapKeyRef.Optional)
		case from.SecretKeyRef != nil:
			text += fmt.Sprintf("<secret %s[%s]?%t", from.SecretKeyRef.Name, from.SecretKeyRef.Key, *from.SecretKeyRef.Optional)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func configMap(name, prefix string) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func secret(name, prefix string) corev1.EnvFromSource {
	return corev1.EnvFromSource{Prefix: prefix, SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func TestOfWhatAControllerHasWholeAHolderGetsSingleKeys(t *testing.T) {
	for _, row := range []struct {
		name    string
		sources []corev1.EnvFromSource
		env     []corev1.EnvVar
		texts   string
		names   string
		want    string
	}{
		{"none when nothing may come from it", []corev1.EnvFromSource{secret("s", "")}, nil, "--a=b", "", ""},
		{"the variable that an argument refers to", []corev1.EnvFromSource{secret("s", "")}, nil, "--a=$(SHARD)", "", "SHARD<secret s[SHARD]?true"},
		{"of a ConfigMap too", []corev1.EnvFromSource{configMap("m", "")}, nil, "--a=$(SHARD)", "", "SHARD<m[SHARD]?true"},
		{"the last of two sources last, as kubelet reads them", []corev1.EnvFromSource{configMap("m", ""), secret("s", "")}, nil, "", "NO_PROXY",
			"NO_PROXY<m[NO_PROXY]?true NO_PROXY<secret s[NO_PROXY]?true"},
		{"under the key without the prefix", []corev1.EnvFromSource{configMap("m", "NO_")}, nil, "", "NO_PROXY", "NO_PROXY<m[PROXY]?true"},
		{"none of a source with another prefix", []corev1.EnvFromSource{configMap("m", "X_")}, nil, "", "NO_PROXY", ""},
		{"none when the prefix is all", []corev1.EnvFromSource{configMap("m", "NO_PROXY")}, nil, "", "NO_PROXY", ""},
		{"none that the container says itself", []corev1.EnvFromSource{secret("s", "")}, []corev1.EnvVar{{Name: "SHARD", Value: "1"}}, "$(SHARD)", "", "SHARD"},
		{"one that its value refers to", []corev1.EnvFromSource{secret("s", "")}, []corev1.EnvVar{{Name: "A", Value: "$(B)"}}, "$(A)", "", "B<secret s[B]?true A"},
		{"one that it says only afterwards", []corev1.EnvFromSource{secret("s", "")}, []corev1.EnvVar{{Name: "A", Value: "$(B)"}, {Name: "B"}}, "$(A)", "",
			"B<secret s[B]?true A B"},
		{"one that it adds to", []corev1.EnvFromSource{secret("s", "")}, []corev1.EnvVar{{Name: "A", Value: "$(A),b"}}, "$(A)", "", "A<secret s[A]?true A"},
		{"none that no variable can be called", []corev1.EnvFromSource{secret("s", "")}, nil, "$(a b) $() $(=)", "", ""},
		{"none of the holder's own", []corev1.EnvFromSource{secret("s", "")}, nil, "$(HOLDFAST_NAMESPACE) $(GOMEMLIMIT)", "", ""},
		{"none of a source that is nothing", []corev1.EnvFromSource{{}}, nil, "$(A)", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &corev1.Container{Name: "manager", Env: row.env, EnvFrom: row.sources}
			if got := said(copied(c, strings.Fields(row.texts), strings.Fields(row.names))); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestAHolderHasTheVariablesOfItsTokensPath(t *testing.T) {
	c := &corev1.Container{
		Env: []corev1.EnvVar{{Name: "OTHER"}, {Name: "PLACE", Value: "$(PART)"}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "a", MountPath: tokenPath, SubPathExpr: "of/$(PLACE)"}, {Name: "b", MountPath: "/elsewhere", SubPathExpr: "$(OTHER)"},
		},
		EnvFrom: []corev1.EnvFromSource{configMap("m", "")},
	}
	if got := said(copied(c, textsOf(c, nil), nil)); got != "PART<m[PART]?true PLACE" {
		t.Errorf("copied %s", got)
	}
}

// One line of a pod must not become hundreds: each variable may be in each source.
func TestAPodThatWouldGrowByThousandsOfVariablesIsLeftAsItIs(t *testing.T) {
	references := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "$(V%d)", i)
		}
		return text.String()
	}
	for _, row := range []struct {
		sources, references int
		want                Skip
	}{{1, 10, ""}, {50, 0, ""}, {1, maxKeys - len(networkVariables), ""}, {1, maxKeys - len(networkVariables) + 1, SkipFlagsUnreadable}, {60, 0, SkipFlagsUnreadable}, {2000, 2000, SkipFlagsUnreadable}, {0, 2000, ""}} {
		pod := fluxPod(t)
		c := &pod.Spec.Containers[0]
		for range row.sources {
			c.EnvFrom = append(c.EnvFrom, configMap("m", ""))
		}
		c.Args = []string{"--watch-label-selector=" + references(row.references)}
		r, _, _ := look(pod, DefaultPolicy())
		if r.Skip != row.want {
			t.Errorf("%d references and %d sources: %q, %s", row.references, row.sources, r.Skip, r.Why)
		}
		policy := DefaultPolicy()
		c.Args = nil
		policy.Args = []string{"--log-level=" + references(row.references)}
		if r, _, _ := look(pod, policy); r.Skip != row.want {
			t.Errorf("%d references of the policy and %d sources: %q, %s", row.references, row.sources, r.Skip, r.Why)
		}
	}
}
