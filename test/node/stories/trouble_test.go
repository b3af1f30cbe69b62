package stories

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// freeze stops the container's processes where they are, until thaw. Longer than half a minute, and the kubelet takes it for dead.
func freeze(ctx context.Context, pod corev1.Pod, container string) (thaw func()) {
	GinkgoHelper()
	Expect(n.Signal(ctx, pod.Namespace, pod.Name, container, syscall.SIGSTOP)).To(Succeed())
	thaw = sync.OnceFunc(func() { _ = n.Signal(context.WithoutCancel(ctx), pod.Namespace, pod.Name, container, syscall.SIGCONT) })
	DeferCleanup(thaw)
	return thaw
}

// restarts waits until the kubelet has started the container again, and returns how the one before ended.
func restarted(ctx context.Context, pod corev1.Pod, container string) corev1.ContainerStateTerminated {
	GinkgoHelper()
	before := statuses(pod)[container].RestartCount
	var how corev1.ContainerStateTerminated
	Eventually(func(g Gomega) {
		var now corev1.Pod
		g.Expect(admin().Get(ctx, client.ObjectKeyFromObject(&pod), &now)).To(Succeed())
		s := statuses(now)[container]
		g.Expect(s.RestartCount).To(BeNumerically(">", before))
		g.Expect(s.State.Running).NotTo(BeNil())
		g.Expect(s.LastTerminationState.Terminated).NotTo(BeNil())
		how = *s.LastTerminationState.Terminated
	}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Succeed())
	return how
}

// arguments has kustomize-controller run with more arguments until the end of the story.
func arguments(ctx context.Context, more ...string) {
	GinkgoHelper()
	patch := func(ctx context.Context, value string) {
		GinkgoHelper()
		kubectl(ctx, "-n", cluster.FluxNamespace, "patch", "deployment", cluster.KustomizeController, "--type=json", "-p",
			`[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":`+value+`}]`)
		Expect(n.RolledOut(ctx, cluster.FluxNamespace, "deployment/"+cluster.KustomizeController)).To(Succeed())
		controllerPod(ctx)
	}
	before := kubectl(ctx, "-n", cluster.FluxNamespace, "get", "deployment", cluster.KustomizeController, "-o", "jsonpath={.spec.template.spec.containers[0].args}")
	DeferCleanup(func(ctx SpecContext) { patch(ctx, before) }, NodeTimeout(2*podBound))
	patch(ctx, strings.TrimSuffix(before, "]")+`,"`+strings.Join(more, `","`)+`"]`)
}

// busy keeps a worker of kustomize-controller busy with a health check that nothing ever passes. No later controller takes it
// up again once it is over.
func busy(ctx context.Context, t *scene.Team) (over func()) {
	GinkgoHelper()
	name := beside(ctx, t, "busy", `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: never-bound, namespace: `+t.Name+`}
spec:
  storageClassName: none
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
`, "timeout: 5m", "wait: true")
	Eventually(func() string {
		return kubectl(ctx, "-n", cluster.FluxNamespace, "get", "kustomization", name, "-o", `jsonpath={.status.conditions[?(@.type=="Reconciling")].message}`)
	}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(ContainSubstring("health checks"))
	return func() {
		GinkgoHelper()
		kubectl(ctx, "-n", cluster.FluxNamespace, "patch", "kustomization", name, "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	}
}

func troubleStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("is deleted with an operation that the busy controller could not begin: the last suspend comes after its exit", storyBound, func(ctx SpecContext) { // B8
		arguments(ctx, "--concurrent=1")
		t := stillTeam(ctx, "node-busy")
		commit := pushed(ctx, t, "debug")
		over := busy(ctx, t)
		ask(ctx, t, "r1", commit)
		runs(ctx, t, "r1")
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())

		gone := deletePod(ctx, controllerPod(ctx))
		over()
		Expect(gone.finished[v1alpha1.HolderContainer]).NotTo(BeTemporally("<", gone.finished[manager]))
		controller := gone.logs[manager]
		suspend, found := lastOf(gone.logs[v1alpha1.HolderContainer], "suspended because the holder stops")
		Expect(found).To(BeTrue(), "the holder says that it suspended at its stop")
		Expect(suspend.at).To(BeTemporally(">", controller[len(controller)-1].at))

		op := ended(ctx, t, "r1")
		if op.Phase == v1alpha1.OperationSucceeded {
			Expect(level(ctx, t)).To(Equal("debug"))
		}
		ask(ctx, t, "r2", commit)
		answered(ctx, t, "r2")
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("loses its holder to a kill -9 in the middle of an operation: kubelet starts it again, and it ends the operation", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "node-kill")
		commit := pushed(ctx, t, "debug")
		pod := controllerPod(ctx)
		thaw := freeze(ctx, pod, manager) // or the operation is over before it can be hit
		ask(ctx, t, "r1", commit)
		runs(ctx, t, "r1")
		Expect(n.Signal(ctx, pod.Namespace, pod.Name, v1alpha1.HolderContainer, syscall.SIGKILL)).To(Succeed())
		Expect(restarted(ctx, pod, v1alpha1.HolderContainer).ExitCode).To(BeEquivalentTo(137))
		thaw()
		succeeds(ctx, t, "r1", commit)
		Expect(level(ctx, t)).To(Equal("debug"))
		Expect(statuses(controllerPod(ctx))[manager].RestartCount).To(Equal(statuses(pod)[manager].RestartCount), "the controller was left alone")
	})

	It("loses its controller to the kernel, for want of memory, in the middle of an apply: what is said of it is so", storyBound, func(ctx SpecContext) { // B17
		const objects = 150
		t := stillTeam(ctx, "node-memory")
		commit := pushedFiles(ctx, t, scene.ConfigMaps(t.Name, objects, "1"))
		applied := func() int {
			return strings.Count(kubectl(ctx, "-n", t.Name, "get", "configmap", "-o", `jsonpath={range .items[*]}{.data.rev},{end}`), "1,")
		}
		pod := controllerPod(ctx)
		Expect(n.Squeeze(ctx, pod.Namespace, pod.Name, manager, 1<<20)).To(Succeed())
		ask(ctx, t, "r1", commit)
		how := restarted(ctx, pod, manager)
		Expect(how.Reason).To(Equal("OOMKilled"))
		op := ended(ctx, t, "r1")
		AddReportEntry("the operation", fmt.Sprintf("%s: %s; %d of %d applied", op.Phase, op.Message, applied(), objects))
		if op.Phase == v1alpha1.OperationSucceeded {
			Expect(applied()).To(Equal(objects))
		}
		Expect(statuses(controllerPod(ctx))[v1alpha1.HolderContainer].RestartCount).To(Equal(statuses(pod)[v1alpha1.HolderContainer].RestartCount))

		ask(ctx, t, "r2", commit)
		answered(ctx, t, "r2")
		Expect(applied()).To(Equal(objects))
	})
}

// answered waits until the request has ended well: by an operation, or because the commit was applied already.
func answered(ctx context.Context, t *scene.Team, id string) {
	GinkgoHelper()
	Expect(t.Await(ctx, id+" is answered", func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil || f.Status.LastHandledRequest == nil {
			return false, "no answer", err
		}
		h := f.Status.LastHandledRequest
		return h.ID == id && (h.Outcome == v1alpha1.OutcomeSucceeded || h.Outcome == v1alpha1.OutcomeCurrent), scene.Say(f), nil
	})).To(Succeed())
	Expect(t.AwaitHeld(ctx)).To(Succeed())
}
