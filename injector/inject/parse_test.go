package inject

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestAPolicyThatSaysLittleHasDefaults(t *testing.T) {
	p, err := ParsePolicy([]byte("image: registry.example/holdfast:v1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultPolicy()
	want.Image = "registry.example/holdfast:v1"
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPolicySaysEverything(t *testing.T) {
	for _, text := range []string{`
image: i
imagePullPolicy: Never
runAsUser: null
resources:
  requests: {cpu: 1, memory: "67108864"}
  limits: {cpu: 2.5}
args: [--log-level=DEBUG]
flux: {enabled: false, serviceAccounts: [a, "*"]}
argocd: {serviceAccounts: [b]}
`, `{"image":"i","imagePullPolicy":"Never","runAsUser":null,"resources":{"requests":{"cpu":1,"memory":"67108864"},"limits":{"cpu":2.5}},
"args":["--log-level=DEBUG"],"flux":{"enabled":false,"serviceAccounts":["a","*"]},"argocd":{"serviceAccounts":["b"]}}`} {
		p, err := ParsePolicy([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		cpu, memory := p.Resources.Limits.Cpu().String(), p.Resources.Limits.Memory().String()
		if p.RunAsUser != nil || p.PullPolicy != corev1.PullNever || p.Flux.Enabled || len(p.Flux.ServiceAccounts) != 2 || p.ArgoCD.Enabled ||
			len(p.ArgoCD.ServiceAccounts) != 1 || cpu != "2500m" || memory != "512Mi" || p.Resources.Requests.Cpu().String() != "1" {
			t.Errorf("got %+v", p)
		}
	}
}

func TestTheLeastAPolicyMaySay(t *testing.T) {
	p, err := ParsePolicy([]byte("image: i\nrunAsUser: 1\nresources: {requests: {cpu: 1, memory: 16Mi}, limits: {cpu: 1, memory: 16Mi}}"))
	if err != nil || *p.RunAsUser != 1 || p.Resources.Requests.Memory().String() != "16Mi" {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestEveryMistakeInAPolicyIsNamedAtOnce(t *testing.T) {
	_, err := ParsePolicy([]byte("resources: {a: {}, b: {}, requests: {x: 1, z: 1}}\nargs: [c, d]"))
	for _, want := range []string{"image: ", "resources.a: ", "resources.b: ", "resources.requests.x: ", "resources.requests.z: ", "args[0]: ", "args[1]: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWhatIsWrongInAPolicyIsNamed(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"", "image: it is missing"},
		{"image: 'a b'", `image: "a b" has a blank`},
		{"imgae: i", `unknown field "imgae"`},
		{"image: i\nimage: j", `key "image" already set`},
		{"image: i\nflux: {enabeld: true}", `unknown field "enabeld"`},
		{"image: i\nflux: {enabled: yes please}", "flux.enabled"},
		{"image: [i]", "image of type string"},
		{"image: i\nimagePullPolicy: Sometimes", `imagePullPolicy: "Sometimes"`},
		{"image: i\nrunAsUser: 0", "runAsUser: 0 is not a user other than root"},
		{"image: i\nrunAsUser: holder", "runAsUser of type int64"},
		{"image: i\nargs: [log-level=DEBUG]", `args[0]: "log-level=DEBUG" is not a flag`},
		{"image: i\nargs: ['--']", `args[0]: "--" is not a flag`},
		{"image: i\nargs: ['--=a']", `args[0]: "--=a" is not a flag`},
		{"image: i\nargs: [--log-level=DEBUG, --watch-label-selector=a=b]", "args[1]: --watch-label-selector is said by the injector"},
		{"image: i\nresources: {requests: {cpu: lots}}", `resources.requests.cpu: "lots" is not a quantity`},
		{"image: i\nresources: {requests: {cpu: -1}}", `resources.requests.cpu: "-1" is not more than nothing`},
		{"image: i\nresources: {requests: {storage: 1Gi}}", "resources.requests.storage: a holder asks for cpu and memory only"},
		{"image: i\nresources: {claims: {cpu: 1}}", "resources.claims: there are only requests and limits"},
		{"image: i\nresources: {requests: {memory: 1Gi}}", "resources.limits.memory: 512Mi is less than the request of 1Gi"},
		{"image: i\nresources: {limits: {memory: 512}, requests: {memory: 64}}", "resources.limits.memory: 512 is too little for a holder to start"},
		{"image: i\nresources: {limits: {cpu: [1]}}", "resources.limits.cpu: \"[1]\" is not a quantity"},
		{"image: i\nflux: {serviceAccounts: [A B]}", `flux.serviceAccounts[0]: "A B" is neither`},
		{"image: i\nargocd: {enabled: true}", "argocd.enabled: it must be false: this version's holder holds Kustomizations only"},
		{"image: ''\nrunAsUser: -1", "runAsUser: -1"},
	} {
		p, err := ParsePolicy([]byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: got %v, want %s", row.text, err, row.want)
		}
		if diff := cmp.Diff(Policy{}, p); diff != "" {
			t.Errorf("%q: a policy beside an error: %s", row.text, diff)
		}
	}
}
