package missing

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// strip is a cache's transform. Of a controller's pod it keeps what inject.Look may read; of any other pod its name, so
// that a namespace of thousands costs little and no value of their environments is kept.
func strip(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	pod.ManagedFields = nil
	if flavour, _ := inject.Recognise(pod); flavour != "" {
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions}
		return pod, nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
	}}, nil
}

// look says of a namespace's pods what Decide needs to know. room is what the namespace allows.
func look(pods []corev1.Pod, policy inject.Policy, room inject.Room) []Pod {
	var all []Pod
	for i := range pods {
		pod := &pods[i]
		result := inject.Look(pod, policy, room)
		if result.Flavour == "" || result.Skip == inject.SkipEnding {
			continue
		}
		p := Pod{
			Name: pod.Name, UID: pod.UID, Created: pod.CreationTimestamp.UTC(), Flavour: result.Flavour,
			Missing: result.Skip.Missing(), Curable: result.Skip == "", Why: result.Why,
		}
		for _, c := range pod.Status.Conditions {
			p.Ready = p.Ready || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			p.Workload = Workload{UID: owner.UID, Name: fmt.Sprintf("%s %s", owner.Kind, owner.Name)}
		}
		all = append(all, p)
	}
	return all
}
