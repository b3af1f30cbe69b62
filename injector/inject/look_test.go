package inject

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// fluxPod is the pod of one golden, decoded.
func fluxPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := json.Unmarshal(readPod(t, filepath.Join("testdata", "flux-install", "pod.yaml")), &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func TestLookSaysWhetherARunningPodLacksItsHolder(t *testing.T) {
	holder := corev1.Container{Name: v1alpha1.HolderContainer, Image: "i", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}
	for _, row := range []struct {
		name    string
		change  func(*corev1.Pod)
		want    Skip
		missing bool
	}{
		{"one that runs without a holder lacks it", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, "", true},
		{"one that cannot have a holder lacks it too", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sh"} }, SkipFlagsUnreadable, true},
		{"so does one that runs as nobody expects", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "builder" }, SkipServiceAccount, true},
		{"one with its holder does not", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{holder}
			p.Annotations[v1alpha1.InjectedAnnotation] = string(Flux)
		}, SkipAlreadyInjected, false},
		{"nor one whose holder came by hand", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{holder} }, SkipNameTaken, false},
		{"one that ends before the controller starts is no holder", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: v1alpha1.HolderContainer}}
			p.Annotations[v1alpha1.InjectedAnnotation] = string(Flux)
		}, SkipNameTaken, false},
		{"another sidecar is none either, whatever the annotation says", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "logs", RestartPolicy: holder.RestartPolicy}}
			p.Annotations[v1alpha1.InjectedAnnotation] = string(Flux)
		}, "", true},
		{"nor one that opted out", func(p *corev1.Pod) { p.Annotations[v1alpha1.InjectLabel] = v1alpha1.InjectDisabled }, SkipOptedOut, false},
		{"nor one that goes", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, SkipEnding, false},
		{"nor one that was evicted", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, SkipEnding, false},
		{"nor one of something else", func(p *corev1.Pod) { p.Labels = nil }, SkipNotRecognised, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := fluxPod(t)
			row.change(pod)
			r := Look(pod, DefaultPolicy(), Room{})
			if r.Skip != row.want || r.Skip.Missing() != row.missing || r.Patch != nil || r.Why == "" {
				t.Errorf("got %q (missing: %t), %q", r.Skip, r.Skip.Missing(), r.Why)
			}
		})
	}
}

func TestATemplateWithoutAServiceAccountRunsAsDefault(t *testing.T) {
	pod := fluxPod(t)
	pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = "", ""
	if r := Look(pod, DefaultPolicy(), Room{}); r.Skip != "" {
		t.Errorf("got %q", r.Why)
	}
	pod.Spec.DeprecatedServiceAccount = "builder"
	if r := Look(pod, DefaultPolicy(), Room{}); r.Skip != SkipServiceAccount {
		t.Errorf("got %q", r.Why)
	}
	p := DefaultPolicy()
	p.Flux.ServiceAccounts = []string{"*"}
	if r := Look(pod, p, Room{}); r.Skip != "" {
		t.Errorf("got %q", r.Why)
	}
}

func TestThePortIsTakenByWhoeverListensOnIt(t *testing.T) {
	port := func(number int32, protocol corev1.Protocol) corev1.Container {
		return corev1.Container{Name: "x", Ports: []corev1.ContainerPort{{ContainerPort: number, Protocol: protocol}}}
	}
	for _, row := range []struct {
		name  string
		c     corev1.Container
		args  []string
		taken bool
	}{
		{"TCP unless it says otherwise", port(9797, ""), nil, true},
		{"TCP", port(9797, corev1.ProtocolTCP), nil, true},
		{"UDP is another port", port(9797, corev1.ProtocolUDP), nil, false},
		{"another number", port(9798, ""), nil, false},
		{"an address of the controller", port(1, ""), []string{"--health-addr=[::]:9797"}, true},
		{"one that it no longer has", port(1, ""), []string{"--health-addr=:9797", "--health-addr=:9440"}, false},
		{"a number that ends like it", port(1, ""), []string{"--metrics-addr=:19797"}, false},
	} {
		for _, initial := range []bool{false, true} {
			pod := fluxPod(t)
			if pod.Spec.Containers[0].Args = row.args; initial {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, row.c)
			} else {
				pod.Spec.Containers = append(pod.Spec.Containers, row.c)
			}
			if r := Look(pod, DefaultPolicy(), Room{}); (r.Skip == SkipPortTaken) != row.taken {
				t.Errorf("%s (init container: %t): %q, %s", row.name, initial, r.Skip, r.Why)
			}
		}
	}
}

func TestAHolderStartsWhereItCanReachTheAPIServer(t *testing.T) {
	named := func(names ...string) (all []corev1.Container) {
		for _, name := range names {
			all = append(all, corev1.Container{Name: name})
		}
		return all
	}
	for _, row := range []struct {
		name         string
		inits, mains []corev1.Container
		index        int
		proxy        string
		possible     bool
	}{
		{"at the end", named("a", "b"), named("manager"), 2, "", true},
		{"behind a proxy that is a sidecar", named("istio-init", "istio-proxy"), named("manager"), 2, "", true},
		{"in front of what leads traffic to a proxy that starts later", named("a", "istio-init", "b"), named("manager", "istio-proxy"), 1, "istio-proxy", true},
		{"also in the very front", named("linkerd-init"), named("linkerd-proxy", "manager"), 0, "linkerd-proxy", true},
		{"nowhere when the node does that", named("istio-validation"), named("manager", "istio-proxy"), 0, "istio-proxy", false},
		{"nowhere when another mesh's does", named("linkerd-init"), named("manager", "istio-proxy"), 0, "istio-proxy", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			index, proxy, possible := place(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: row.inits, Containers: row.mains}})
			if index != row.index || proxy != row.proxy || possible != row.possible {
				t.Errorf("got %d, %q, %t", index, proxy, possible)
			}
		})
	}
}

// B5: a mesh that injects last can cut off a holder that was fine when it was added.
func TestAHolderThatWasCutOffIsWarnedOf(t *testing.T) {
	for name, row := range map[string]struct {
		inits, mains []string
		warned       bool
	}{
		"no mesh":                             {[]string{v1alpha1.HolderContainer}, nil, false},
		"a native proxy":                      {[]string{"istio-init", "istio-proxy", v1alpha1.HolderContainer}, nil, false},
		"traffic is led away after it starts": {[]string{v1alpha1.HolderContainer, "istio-init"}, []string{"istio-proxy"}, false},
		"traffic is led away before":          {[]string{"istio-init", v1alpha1.HolderContainer}, []string{"istio-proxy"}, true},
		"the node leads it away":              {[]string{"istio-validation", v1alpha1.HolderContainer}, []string{"istio-proxy"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := fluxPod(t)
			pod.Annotations[v1alpha1.InjectedAnnotation] = string(Flux)
			for _, c := range row.inits {
				pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: c, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)})
			}
			for _, c := range row.mains {
				pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c})
			}
			if r := Look(pod, DefaultPolicy(), Room{}); r.Skip != SkipAlreadyInjected || (len(r.Warnings) > 0) != row.warned {
				t.Errorf("got %q, %q", r.Skip, r.Warnings)
			}
		})
	}
}

func TestAnImageIsItsLastPart(t *testing.T) {
	for image, want := range map[string]string{
		"kustomize-controller":                          "kustomize-controller",
		"fluxcd/kustomize-controller:v1":                "kustomize-controller",
		"host:5000/kustomize-controller":                "kustomize-controller",
		"host:5000/a/kustomize-controller:v1@sha256:ab": "kustomize-controller",
		"kustomize-controller@sha256:ab":                "kustomize-controller",
		"host/kustomize-controller/nginx":               "nginx",
		"host/nginx@sha256:ab/kustomize-controller":     "nginx",
		"host/kustomize-controller-fips:v1":             "kustomize-controller-fips",
		"":                                              "",
		"/":                                             "",
		strings.Repeat("a/", 100) + "kustomize-controller:v1.9.6-1": "kustomize-controller",
	} {
		if got := repository(image); got != want {
			t.Errorf("%q is %q, want %q", image, got, want)
		}
	}
}

// B5: whoever comes after the injector finds a pod it is done with, whatever is added around the holder, and nothing of
// theirs is lost when the injector is asked again.
func TestAPodOthersChangedAfterwardsIsLeftAsItIs(t *testing.T) {
	policy := DefaultPolicy()
	native := corev1.Container{Name: "istio-proxy", Image: "istio", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)}
	for name, change := range map[string]func(*corev1.Pod){
		"a native istio-proxy in front": func(p *corev1.Pod) {
			p.Spec.InitContainers = append([]corev1.Container{native}, p.Spec.InitContainers...)
		},
		"a native istio-proxy behind": func(p *corev1.Pod) { p.Spec.InitContainers = append(p.Spec.InitContainers, native) },
		"a classic istio-proxy": func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "istio-init"})
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "istio-proxy"})
		},
		"an annotation and a label": func(p *corev1.Pod) { p.Annotations["a"], p.Labels["b"] = "1", "2" },
		"a container on the holder's port": func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "x", Ports: []corev1.ContainerPort{{ContainerPort: v1alpha1.HolderPort}}})
		},
		"a variable, a mount and another image in the holder itself": func(p *corev1.Pod) {
			h := &p.Spec.InitContainers[0]
			h.Env, h.Image = append(h.Env, corev1.EnvVar{Name: "A"}), "mirror/"+h.Image
			h.VolumeMounts = append(h.VolumeMounts, corev1.VolumeMount{Name: "a", MountPath: "/a"})
		},
		"an opt-out that comes too late": func(p *corev1.Pod) { p.Annotations[v1alpha1.InjectLabel] = v1alpha1.InjectDisabled },
	} {
		t.Run(name, func(t *testing.T) {
			before, err := json.Marshal(fluxPod(t))
			if err != nil {
				t.Fatal(err)
			}
			first, err := Inject(before, "flux-system", policy, Room{})
			if err != nil || first.Skip != "" {
				t.Fatal(err, first.Why)
			}
			var pod corev1.Pod
			if err := json.Unmarshal(apply(t, before, first.Patch), &pod); err != nil {
				t.Fatal(err)
			}
			change(&pod)
			changed, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := Inject(changed, "flux-system", policy, Room{}); err != nil || second.Skip != SkipAlreadyInjected || second.Patch != nil {
				t.Errorf("got %v, %q, %v", err, second.Why, second.Patch)
			}
		})
	}
}
