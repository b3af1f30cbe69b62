package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// monitors are the PodMonitors of a render, decoded as the Prometheus operator has them: a field it does not know is an error.
func monitors(t *testing.T, v values) map[string]monitoringv1.PodMonitor {
	t.Helper()
	found := map[string]monitoringv1.PodMonitor{}
	for name, o := range all(t, mustRender(t, v, install)) {
		if o.GetKind() != monitoringv1.PodMonitorsKind {
			continue
		}
		if want := monitoringv1.SchemeGroupVersion.String(); o.GetAPIVersion() != want {
			t.Errorf("%s: its version is %s, want %s", name, o.GetAPIVersion(), want)
		}
		var m monitoringv1.PodMonitor
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &m, true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, e := range m.Spec.PodMetricsEndpoints {
			if _, err := model.ParseDuration(string(e.Interval)); err != nil {
				t.Errorf("%s: its interval: %v", name, err)
			}
		}
		found[m.Name] = m
	}
	return found
}

// injected is a pod of flux install with the holder that the injector adds by the policy of a render.
func injected(t *testing.T, v values) corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "injector", "inject", "testdata", "flux-install", "pod.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(text, &pod); err != nil {
		t.Fatal(err)
	}
	document, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := inject.Inject(document, pod.Namespace, policyOf(t, v), inject.Room{})
	if err != nil || r.Skip != "" {
		t.Fatalf("no holder: %s, %v", r.Why, err)
	}
	for _, step := range r.Patch {
		switch added := step.Value.(type) {
		case corev1.Container:
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, added)
		case []corev1.Container:
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, added...)
		}
	}
	return pod
}

// targets are the endpoints that Prometheus would read of a pod: `container :port/path`.
func targets(t *testing.T, m monitoringv1.PodMonitor, pod corev1.Pod) []string {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(&m.Spec.Selector)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	if pod.Namespace != m.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
		return nil
	}
	var found []string
	for _, e := range m.Spec.PodMetricsEndpoints {
		path := e.Path
		if path == "" {
			path = "/metrics" // what Prometheus asks for when nobody says otherwise
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, p := range c.Ports {
				if e.Port != nil && p.Name == *e.Port {
					found = append(found, fmt.Sprintf("%s :%d%s", c.Name, p.ContainerPort, path))
				}
			}
		}
	}
	return found
}

// Each PodMonitor reads one port of the program it is for and none of another, where that program serves its metrics.
// What a program serves there is read in the stories of test/e2e and test/node.
func TestEachPodMonitorReadsTheMetricsOfItsProgram(t *testing.T) {
	v := merged(read(t, filepath.Join("testdata", "everything", "values.yaml")), nil)
	flux := injected(t, v)
	pods := []corev1.Pod{flux}
	for _, template := range templates(t, filepath.Join("testdata", "everything")) {
		pods = append(pods, corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
		pods[len(pods)-1].Namespace = install.Namespace
	}
	all := monitors(t, v)
	for name, want := range map[string]string{
		"holdfast-holder":    fmt.Sprintf("%s :%d/metrics", v1alpha1.HolderContainer, v1alpha1.HolderPort),
		"holdfast-injector":  "injector :8080/metrics",
		"holdfast-gitmirror": "gitmirror :8080/metrics",
	} {
		m, ok := all[name]
		if !ok {
			t.Errorf("there is no PodMonitor %s", name)
			continue
		}
		var got []string
		for _, pod := range pods {
			got = append(got, targets(t, m, pod)...)
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d PodMonitors, want 3", len(all))
	}
}

// A program's own address of its metrics is the port that its container names for them.
func TestMetricsAreServedOnThePortThatIsNamedForThem(t *testing.T) {
	flags, err := os.ReadFile(filepath.Join("..", "..", "injector", "flags.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(flags), `"metrics-bind-address", ":8080"`) {
		t.Error("the injector, which the chart tells no address, serves its metrics elsewhere than on :8080")
	}
	everything := filepath.Join("testdata", "everything")
	pods := []corev1.PodSpec{injected(t, read(t, filepath.Join(everything, "values.yaml"))).Spec}
	for _, template := range templates(t, everything) {
		pods = append(pods, template.Spec)
	}
	told := 0
	for _, spec := range pods {
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			for _, arg := range c.Args {
				address, ok := strings.CutPrefix(arg, "--metrics-bind-address=:")
				if !ok {
					continue
				}
				told++
				if !slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
					return (p.Name == "http-metrics" || p.Name == "http-holdfast") && fmt.Sprint(p.ContainerPort) == address
				}) {
					t.Errorf("%s serves its metrics on :%s, which no port of %v is", c.Name, address, c.Ports)
				}
			}
		}
	}
	if told != 2 {
		t.Errorf("%d programs are told where to serve their metrics, want gitmirror and the holder", told)
	}
}

// Helm looks up every kind before it makes the first object, so a cluster without the operator's gets nothing of the chart.
func TestTheValueSaysWhoseKindsItNeeds(t *testing.T) {
	for _, l := range leaves(t) {
		if l.String() == "monitoring.podMonitor.enabled" && strings.Contains(l.comment, "`"+monitoringv1.SchemeGroupVersion.String()+"`") {
			return
		}
	}
	t.Error("monitoring.podMonitor.enabled does not name the kinds it needs")
}
