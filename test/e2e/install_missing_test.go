package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

var _ = Describe("A workload whose pod has no holder", Label("install"), func() {
	It("is restarted when that was consented to and the pod is a minute old, and not again when that did not help", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		injecting(ctx, "--restart-missing")
		here := namespace(ctx, "install-consent", nil)
		Expect(world.StopInjector(false)).To(Succeed())
		deploys(ctx, here)
		first := onlyPod(ctx, here, "")
		Expect(holder(first)).To(BeNil())

		By("the injector comes back and waits until the pod is a minute old")
		Expect(world.StartInjector(ctx, 2, "--restart-missing")).To(Succeed())
		toldOfPod(ctx, first, "HolderMissing")
		second := onlyPod(ctx, here, first.Name)
		Expect(second.CreationTimestamp.Sub(first.CreationTimestamp.Time)).To(BeNumerically(">=", time.Minute))
		Expect(holder(second)).NotTo(BeNil())
		Expect(eventsOf(ctx, first)).To(ConsistOf("HolderMissing", "Restarting"))
		Eventually(func() float64 { return missingIn(ctx, here) }, "30s").Should(BeZero())
	})

	It("is told of in vain when the pod in its place came without one too, by whichever replica leads", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		injecting(ctx, "--restart-missing")
		here := namespace(ctx, "install-vain", nil)
		Expect(world.StopInjector(false)).To(Succeed())
		deploys(ctx, here)
		first := onlyPod(ctx, here, "")

		By("the webhook is switched off behind the injector's back")
		c := configuration(ctx)
		selector := c.Webhooks[0].NamespaceSelector.DeepCopy()
		c.Webhooks[0].NamespaceSelector.MatchLabels = map[string]string{"holdfast-story": "none"}
		Expect(admin().Update(ctx, c)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Eventually(func() error {
				now := configuration(ctx)
				now.Webhooks[0].NamespaceSelector = selector
				return admin().Update(ctx, now)
			}, "10s").Should(Succeed())
		})
		Expect(world.StartInjector(ctx, 2, "--restart-missing")).To(Succeed())
		second := onlyPod(ctx, here, first.Name)
		Expect(holder(second)).To(BeNil())
		toldOfPod(ctx, second, "RestartedInVain")

		By("another replica leads, and the pod gets older than a minute")
		Expect(world.StopInjector(false)).To(Succeed())
		Expect(world.StartInjector(ctx, 2, "--restart-missing")).To(Succeed())
		Eventually(func() float64 { return missingIn(ctx, here) }, "60s").Should(BeNumerically("==", 1))
		Eventually(func() time.Duration { return time.Since(second.CreationTimestamp.Time) }, "90s", "1s").Should(BeNumerically(">", 70*time.Second))
		Expect(podNow(ctx, second)).NotTo(BeNil(), "it was not restarted again")
		Expect(eventsOf(ctx, second)).To(ConsistOf("RestartedInVain"))

		By("an uninstall takes the webhook configuration away: what the injector wrote goes with it, and is not made again while the injector runs")
		written := func() []string {
			return strings.Fields(kubectl(ctx, cluster.Admin, "-n", cluster.InjectorNamespace, "get", "--ignore-not-found", "-o", "name",
				"lease/holdfast-injector", "configmap/holdfast-injector-restarts", "secret/holdfast-injector"))
		}
		Expect(written()).To(HaveLen(3))
		c = configuration(ctx)
		Expect(admin().Delete(ctx, c)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			c.UID, c.ResourceVersion, c.ManagedFields = "", "", nil
			Expect(admin().Create(ctx, c)).To(Succeed())
		})
		Eventually(written, "30s", "200ms").Should(BeEmpty())
		Consistently(written, "6s", "200ms").Should(BeEmpty(), "a leader renews its Lease every two seconds")
	})
})

// missingIn is how many pods of a namespace have no holder, as the replica that leads says.
func missingIn(ctx context.Context, namespace string) float64 {
	GinkgoHelper()
	return injectorCount(ctx, `holdfast_injector_pods_without_holder{flavour="kustomize-controller",namespace="`+namespace+`"}`)
}

// deploys makes a Deployment of kustomize-controller, whose pods the real controllers make.
func deploys(ctx context.Context, namespace string) {
	GinkgoHelper()
	pod := golden(ctx, "flux-install", namespace)
	labels := map[string]string{"app": "kustomize-controller"}
	delete(pod.Labels, "pod-template-hash")
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = nil, nil
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kustomize-controller"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec},
		},
	}
	Expect(admin().Create(ctx, d)).To(Succeed())
}

// onlyPod waits until there is one pod in the namespace, of another name than that.
func onlyPod(ctx context.Context, namespace, other string) *corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Eventually(func() []corev1.Pod {
		Expect(admin().List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		return pods.Items
	}, 2*time.Minute, "200ms").Should(ConsistOf(HaveField("Name", Not(Equal(other)))))
	return &pods.Items[0]
}
