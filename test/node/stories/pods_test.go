package stories

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

const (
	manager = "manager" // the controller's container

	podBound  = 90 * time.Second
	lookEvery = 50 * time.Millisecond
)

func admin() client.Client {
	GinkgoHelper()
	c, err := world.Client(cluster.Admin)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// controllerPods are the pods of kustomize-controller that are there and not being deleted, the oldest first.
func controllerPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(admin().List(ctx, &pods, client.InNamespace(cluster.FluxNamespace), client.MatchingLabels{"app": cluster.KustomizeController})).To(Succeed())
	live := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	slices.SortFunc(live, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return live
}

// controllerPod is the one pod of kustomize-controller, with every container ready.
func controllerPod(ctx context.Context) corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(func() error {
		pods := controllerPods(ctx)
		if len(pods) != 1 {
			return fmt.Errorf("there are %d", len(pods))
		}
		pod = pods[0]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("it is not ready")
	}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Succeed())
	return pod
}

// statuses are those of a pod's containers by name, sidecars among them.
func statuses(pod corev1.Pod) map[string]corev1.ContainerStatus {
	all := map[string]corev1.ContainerStatus{}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		all[s.Name] = s
	}
	return all
}

// end is what was last seen of a pod that is gone: when each container ended, and its log to the last line.
type end struct {
	finished map[string]time.Time
	logs     map[string][]line
	took     time.Duration
}

// line is one of a container's log, with the time containerd took it.
type line struct {
	at   time.Time
	text string
}

// lastOf returns the last line that contains text.
func lastOf(lines []line, text string) (line, bool) {
	for _, l := range slices.Backward(lines) {
		if strings.Contains(l.text, text) {
			return l, true
		}
	}
	return line{}, false
}

// deletePod deletes the pod and follows it until it is gone.
func deletePod(ctx context.Context, pod corev1.Pod) end {
	GinkgoHelper()
	e := end{finished: map[string]time.Time{}, logs: map[string][]line{}}
	logs := make(chan func())
	for name := range statuses(pod) {
		go func() {
			out, err := world.Kubectl(ctx, cluster.Admin, "-n", pod.Namespace, "logs", "-f", "--timestamps", pod.Name, "-c", name)
			logs <- func() {
				Expect(err).NotTo(HaveOccurred())
				e.logs[name] = parseLog(out)
			}
		}()
	}
	begin := time.Now()
	kubectl(ctx, "-n", pod.Namespace, "delete", "pod", pod.Name, "--wait=false")
	err := wait.PollUntilContextTimeout(ctx, lookEvery, podBound, true, func(ctx context.Context) (bool, error) {
		now := pod
		err := admin().Get(ctx, client.ObjectKeyFromObject(&pod), &now)
		if apierrors.IsNotFound(err) || err == nil && now.UID != pod.UID {
			return true, nil
		}
		for name, s := range statuses(now) {
			if s.State.Terminated != nil {
				e.finished[name] = s.State.Terminated.FinishedAt.Time
			}
		}
		return false, err
	})
	Expect(err).NotTo(HaveOccurred())
	e.took = time.Since(begin)
	for range statuses(pod) {
		(<-logs)()
	}
	return e
}

func parseLog(out string) []line {
	var lines []line
	for text := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		stamp, rest, _ := strings.Cut(text, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
			lines = append(lines, line{at, rest})
		}
	}
	return lines
}

// holderOf is how the holder of the pod was put in; nil: there is none.
func holderOf(pod corev1.Pod) *corev1.Container {
	i := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == v1alpha1.HolderContainer })
	if i < 0 {
		return nil
	}
	return &pod.Spec.InitContainers[i]
}
