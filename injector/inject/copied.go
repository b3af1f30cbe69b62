package inject

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
)

// networkVariables say how the API server and Flux's notification-controller are reached.
var networkVariables = []string{
	"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

// maxKeys is how many keys of ConfigMaps and Secrets a holder may get because its controller has those whole, which is each
// variable from each of them. Beyond it the pod would grow by far more than anybody wrote.
const maxKeys = 512

// copied returns what a holder gets of the environment of container c: the variables that these texts refer to, those with
// one of these names, and those that their values refer to in turn. First comes what may be in a ConfigMap or a Secret that
// c has whole, key by key, and nothing else of those; then the variables of c, in its order. The holder's own are never
// among them.
func copied(c *corev1.Container, texts, names []string) []corev1.EnvVar {
	wanted, outside := reach(c.Env, texts, names)
	env := keysOf(c.EnvFrom, outside)
	for _, e := range c.Env {
		if !wanted[e.Name] {
			continue
		}
		e = *e.DeepCopy()
		if e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.ContainerName == "" {
			e.ValueFrom.ResourceFieldRef.ContainerName = c.Name // left out it means the container it stands in
		}
		env = append(env, e)
	}
	return env
}

// reach returns which names in a list of variables count for texts and names, and those that are not in it where they are
// referred to, in the order in which they are come upon.
func reach(list []corev1.EnvVar, texts, names []string) (wanted map[string]bool, outside []string) {
	places := map[string][]int{}
	for i, e := range list {
		places[e.Name] = append(places[e.Name], i)
	}
	wanted = map[string]bool{}
	missed := map[string]bool{}
	var next []string
	want := func(name string, before int) {
		at := places[name]
		if name == namespaceVariable || name == memoryVariable {
			return
		}
		if (len(at) == 0 || at[0] >= before) && !missed[name] {
			missed[name] = true
			outside = append(outside, name)
		}
		if !wanted[name] {
			wanted[name] = true
			next = append(next, name)
		}
	}
	for _, name := range names {
		want(name, len(list))
	}
	for _, text := range texts {
		for _, name := range references(text) {
			want(name, len(list))
		}
	}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, i := range places[name] {
			for _, other := range references(list[i].Value) {
				want(other, i)
			}
		}
	}
	return wanted, outside
}

// tooManyKeys says that more than maxKeys keys would be looked up for these names.
func tooManyKeys(sources []corev1.EnvFromSource, names []string) bool {
	return len(sources)*len(names) > maxKeys
}

// keysOf returns variables of these names from what a container has whole. As there, a later source counts over an earlier
// one, and a source that has no such key gives nothing.
func keysOf(sources []corev1.EnvFromSource, names []string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range names {
		if len(validation.IsEnvVarName(name)) > 0 {
			continue
		}
		for _, s := range sources {
			key, found := strings.CutPrefix(name, s.Prefix)
			if !found || len(validation.IsConfigMapKey(key)) > 0 {
				continue
			}
			from := &corev1.EnvVarSource{}
			switch {
			case s.ConfigMapRef != nil:
				from.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{LocalObjectReference: s.ConfigMapRef.LocalObjectReference, Key: key, Optional: ptr.To(true)}
			case s.SecretRef != nil:
				from.SecretKeyRef = &corev1.SecretKeySelector{LocalObjectReference: s.SecretRef.LocalObjectReference, Key: key, Optional: ptr.To(true)}
			default:
				continue
			}
			env = append(env, corev1.EnvVar{Name: name, ValueFrom: from})
		}
	}
	return env
}

// textsOf returns all texts of a holder with these arguments in which kubelet puts variables.
func textsOf(c *corev1.Container, args []string) []string {
	texts := slices.Clone(args)
	for _, m := range tokenMounts(c) {
		texts = append(texts, m.SubPathExpr)
	}
	return texts
}
