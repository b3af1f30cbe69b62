package inject

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	cpuRequest    = v1alpha1.HolderCPURequestAnnotation
	cpuLimit      = v1alpha1.HolderCPULimitAnnotation
	memoryRequest = v1alpha1.HolderMemoryRequestAnnotation
	memoryLimit   = v1alpha1.HolderMemoryLimitAnnotation
)

func TestAnnotationsSayWhatAHolderGets(t *testing.T) {
	type said map[string]string
	amount := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	for _, row := range []struct {
		name     string
		says     said
		all      *corev1.ResourceRequirements
		want     string // requests of CPU and memory, then limits
		warnings int
	}{
		{"nothing, and it is the policy's", said{}, nil, "10m 64Mi 1 512Mi", 0},
		{"one amount", said{cpuLimit: "2"}, nil, "10m 64Mi 2 512Mi", 0},
		{"a request as large as the limit", said{cpuRequest: "1", memoryRequest: "512Mi"}, nil, "1 512Mi 1 512Mi", 0},
		{"a request above the policy's limit does not count", said{cpuRequest: "1001m"}, nil, "10m 64Mi 1 512Mi", 1},
		{"nor a limit below the policy's request", said{memoryLimit: "63Mi"}, nil, "10m 64Mi 1 512Mi", 1},
		{"of a pair that does not fit neither counts", said{cpuRequest: "3", cpuLimit: "2"}, nil, "10m 64Mi 1 512Mi", 1},
		{"and the other pair does", said{cpuRequest: "3", memoryLimit: "1Gi"}, nil, "10m 64Mi 1 1Gi", 1},
		{"no holder starts with a few bytes", said{memoryRequest: "1Mi", memoryLimit: "16383Ki", cpuLimit: "2"}, nil, "10m 64Mi 2 512Mi", 1},
		{"it may with 16Mi", said{memoryRequest: "1Mi", memoryLimit: "16Mi"}, nil, "10m 1Mi 1 16Mi", 0},
		{"what is no quantity does not count, and the rest does", said{cpuRequest: "?", cpuLimit: "-1", memoryLimit: "1Gi"}, nil, "10m 64Mi 1 1Gi", 2},
		{"a pod that asks for all its containers has no other amounts", said{}, &corev1.ResourceRequirements{Requests: amount}, "0 0 0 0", 0},
		{"so has one that limits them", said{cpuLimit: "2"}, &corev1.ResourceRequirements{Limits: amount}, "0 0 0 0", 0},
		{"an empty amount for all is none", said{}, &corev1.ResourceRequirements{}, "10m 64Mi 1 512Mi", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := fluxPod(t)
			pod.Annotations, pod.Spec.Resources = row.says, row.all
			r, warnings := resourcesOf(pod, DefaultPolicy())
			got := fmt.Sprintf("%s %s %s %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Cpu(), r.Limits.Memory())
			if got != row.want || len(warnings) != row.warnings {
				t.Errorf("got %s, %q; want %s", got, warnings, row.want)
			}
		})
	}
}

func TestAPolicyWithoutLimitsGivesNone(t *testing.T) {
	p := DefaultPolicy()
	p.Resources = corev1.ResourceRequirements{}
	pod := fluxPod(t)
	pod.Annotations = map[string]string{cpuRequest: "5"}
	r, warnings := resourcesOf(pod, p)
	if len(r.Limits) != 0 || r.Requests.Cpu().String() != "5" || len(warnings) != 0 {
		t.Errorf("got %+v, %q", r, warnings)
	}
	given, _ := readFlags(nil, nil)
	holder, _ := holderOf(pod, Flux, &pod.Spec.Containers[0], given, r, p)
	for _, e := range holder.Env {
		if e.Name == memoryVariable {
			t.Error("without a limit there is nothing to tell Go's runtime")
		}
	}
}
