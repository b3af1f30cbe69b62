package stories

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/node"
)

// quiet is how long a story looks for what must not happen.
const quiet = 5 * time.Second

// readyPods are the pods of kustomize-controller in which everything serves.
func readyPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var ready []corev1.Pod
	for _, pod := range controllerPods(ctx) {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready = append(ready, pod)
			}
		}
	}
	return ready
}

// restartController makes the pods of kustomize-controller anew and waits for the new one.
func restartController(ctx context.Context) corev1.Pod {
	GinkgoHelper()
	before := controllerPod(ctx).UID
	kubectl(ctx, "-n", cluster.FluxNamespace, "rollout", "restart", "deployment/"+cluster.KustomizeController)
	Expect(n.RolledOut(ctx, cluster.FluxNamespace, "deployment/"+cluster.KustomizeController)).To(Succeed())
	pod := controllerPod(ctx)
	Expect(pod.UID).NotTo(Equal(before))
	return pod
}

// replicas scales a Deployment of Holdfast and waits until it is so.
func replicas(ctx context.Context, name string, count int) {
	GinkgoHelper()
	kubectl(ctx, "-n", cluster.HoldfastNamespace, "scale", "deployment/"+name, fmt.Sprintf("--replicas=%d", count))
	Expect(n.RolledOut(ctx, cluster.HoldfastNamespace, "deployment/"+name)).To(Succeed())
	Eventually(func() int {
		return strings.Count(kubectl(ctx, "-n", cluster.HoldfastNamespace, "get", "pods", "-l", "app.kubernetes.io/component="+strings.TrimPrefix(name, "holdfast-"), "-o", "name"), "\n")
	}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Equal(count))
}

func rolloutStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("overlaps with the next one in a rolling update: the operation is done once, by the one whose controller leads", storyBound, func(ctx SpecContext) { // B20
		t := stillTeam(ctx, "node-rolling")
		commit := pushed(ctx, t, "debug")
		first := controllerPod(ctx)
		generation := kustomization(ctx, t).Generation

		By("two pods at once, both ready, of which one leads")
		kubectl(ctx, "-n", cluster.FluxNamespace, "scale", "deployment/"+cluster.KustomizeController, "--replicas=2")
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, "-n", cluster.FluxNamespace, "scale", "deployment/"+cluster.KustomizeController, "--replicas=1")
			controllerPod(ctx)
		}, NodeTimeout(podBound))
		Eventually(func() int { return len(readyPods(ctx)) }).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Equal(2))
		kubectl(ctx, "-n", cluster.FluxNamespace, "rollout", "restart", "deployment/"+cluster.KustomizeController)
		ask(ctx, t, "r1", commit)
		op := succeeds(ctx, t, "r1", commit)
		AddReportEntry("the operation was done beside", op.Controller)
		Expect(op.Controller).To(HavePrefix(cluster.KustomizeController+"-"), "the identity begins with the pod's name")
		Expect(kustomization(ctx, t).Generation).To(BeNumerically(">=", generation+2))

		Expect(n.RolledOut(ctx, cluster.FluxNamespace, "deployment/"+cluster.KustomizeController)).To(Succeed())
		for _, pod := range readyPods(ctx) {
			Expect(pod.UID).NotTo(Equal(first.UID))
			Expect(holderOf(pod)).NotTo(BeNil())
		}
		By("and after it the newer ones go on")
		commit = pushed(ctx, t, "warn")
		ask(ctx, t, "r2", commit)
		succeeds(ctx, t, "r2", commit)
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		ids := map[string]int{}
		for _, done := range f.Status.History {
			ids[done.RequestID]++
		}
		Expect(ids["r1"]).To(Equal(1))
		Expect(ids["r2"]).To(Equal(1))
	})

	It("is drained off the node: what is held stays held, and goes on where the pod comes back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "node-drain")
		commit := pushed(ctx, t, "debug")
		first := controllerPod(ctx)
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "uncordon", node.Name) }, NodeTimeout(30*time.Second))
		kubectl(ctx, "drain", node.Name, "--pod-selector=app="+cluster.KustomizeController, "--delete-emptydir-data", "--timeout=60s")
		ask(ctx, t, "r1", commit)
		Consistently(func() bool { return kustomization(ctx, t).Spec.Suspend }).WithContext(ctx).WithTimeout(quiet).WithPolling(lookEvery).Should(BeTrue())
		Expect(level(ctx, t)).To(Equal("info"))

		kubectl(ctx, "uncordon", node.Name)
		second := controllerPod(ctx)
		Expect(second.UID).NotTo(Equal(first.UID))
		Expect(holderOf(second)).NotTo(BeNil())
		succeeds(ctx, t, "r1", commit)
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("leaves an injector behind when a node is drained", storyBound, func(ctx SpecContext) {
		evict := func(pod string) error {
			e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.HoldfastNamespace, Name: pod}}
			p := &corev1.Pod{ObjectMeta: e.ObjectMeta}
			return admin().SubResource("eviction").Create(ctx, p, e)
		}
		pods := strings.Fields(kubectl(ctx, "-n", cluster.HoldfastNamespace, "get", "pods", "-l", "app.kubernetes.io/component=injector", "-o", "jsonpath={.items[*].metadata.name}"))
		Expect(pods).To(HaveLen(2))
		Expect(evict(pods[0])).To(Succeed())
		Expect(evict(pods[1])).To(MatchError(ContainSubstring("disruption budget")))
		Expect(n.RolledOut(ctx, cluster.HoldfastNamespace, "deployment/holdfast-injector")).To(Succeed())
	})

	It("comes back without a holder while no injector runs: nothing is applied, it is told, and nobody restarts it", storyBound, func(ctx SpecContext) { // B1, B2
		t := stillTeam(ctx, "node-injector")
		replicas(ctx, "holdfast-injector", 0)
		DeferCleanup(func(ctx SpecContext) {
			replicas(ctx, "holdfast-injector", 2)
			if holderOf(controllerPod(ctx)) == nil {
				restartController(ctx)
			}
		}, NodeTimeout(3*podBound))
		pod := restartController(ctx)
		Expect(holderOf(pod)).To(BeNil())

		By("a push is not applied, and a live edit is not reverted")
		before, err := world.Git.Head(ctx, t.Name, gitserver.Branch)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"level":"live"}}`)
		Expect(t.Await(ctx, "gitmirror has written the edit", func(ctx context.Context) (bool, string, error) {
			tip, err := world.Git.Head(ctx, t.Name, gitserver.Branch)
			return tip != before, tip, err
		})).To(Succeed()) // so that the push goes on top of it, and not the other way round
		commit := pushed(ctx, t, "debug")
		kubectl(ctx, "-n", cluster.FluxNamespace, "annotate", "--overwrite", "kustomization", t.Name, "reconcile.fluxcd.io/requestedAt=by-hand")
		Consistently(func() string { return level(ctx, t) }).WithContext(ctx).WithTimeout(quiet).WithPolling(lookEvery).Should(Equal("live"))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())

		By("the trigger says that its holder is missing")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = t.Within(podBound).AwaitReason(ctx, f, v1alpha1.ConditionHolderAvailable, v1alpha1.ReasonHolderMissing)
		Expect(err).NotTo(HaveOccurred())

		By("an injector that is back tells of the pod, and leaves it running")
		replicas(ctx, "holdfast-injector", 2)
		Eventually(func() string {
			return kubectl(ctx, "-n", cluster.FluxNamespace, "get", "events.events.k8s.io", "-o", `jsonpath={range .items[?(@.reason=="HolderMissing")]}{.regarding.name} {end}`)
		}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(ContainSubstring(pod.Name))
		Expect(controllerPod(ctx).UID).To(Equal(pod.UID))

		By("a restart brings the holder, and then it is applied")
		Expect(holderOf(restartController(ctx))).NotTo(BeNil())
		ask(ctx, t, "r1", commit)
		answered(ctx, t, "r1")
	})
}
