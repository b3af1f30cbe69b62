package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAnAddressIsReadAsTheControllerListensOnIt(t *testing.T) {
	variables := []corev1.EnvVar{
		{Name: "P", Value: "9797"}, {Name: "ALL", Value: ":$(P)"}, {Name: "OTHER", Value: "9798"}, {Name: "FLAG", Value: "--metrics-addr=0.0.0.0:$(P)"},
		{Name: "LATE", ValueFrom: &corev1.EnvVarSource{}},
	}
	for _, row := range []struct {
		name, args string
		taken      bool
	}{
		{"all addresses", "--metrics-addr=:9797", true},
		{"one address", "--health-addr=[::1]:9797", true},
		{"a word of its own", "--metrics-addr :9797", true},
		{"a port in a variable", "--metrics-addr=:$(P)", true},
		{"an address in a variable", "--health-addr=$(ALL)", true},
		{"a flag in a variable", "$(FLAG)", true},
		{"a port with zeros in front", "--metrics-addr=:09797", true},
		{"a port with a sign", "--metrics-addr=:+9797", true},
		{"another port", "--metrics-addr=:9798", false},
		{"another port in a variable", "--metrics-addr=:$(OTHER)", false},
		{"a variable that only the node knows", "--metrics-addr=:$(LATE)", false},
		{"two dollars are no variable", "--metrics-addr=:$$(P)", false},
		{"a number that ends like it", "--metrics-addr=:19797", false},
		{"a host that looks like it", "--metrics-addr=9797:8080", false},
		{"a port by name", "--metrics-addr=:http", false},
		{"nothing", "--metrics-addr=", false},
		{"the port of Argo CD", "--metrics-port=9797", true},
		{"in a variable", "--metrics-port=$(P)", true},
		{"in another base", "--metrics-port=0x2645", true},
		{"where a zero in front is one of eight", "--metrics-port=09797", false},
	} {
		pod := fluxPod(t)
		c := &pod.Spec.Containers[0]
		c.Args, c.Env = strings.Fields(row.args), variables
		if _, skip, why := possible(pod, Flux, c, nil); (skip == SkipPortTaken) != row.taken {
			t.Errorf("%s: %q, %s", row.name, skip, why)
		}
	}
}
