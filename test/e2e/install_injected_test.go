package e2e

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

var _ = Describe("A pod of a controller", Label("install"), func() {
	It("gets a holder in every flavour of Flux, and nothing else of it changes", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		here := namespace(ctx, "install-flavours", nil)
		plainNamespace(ctx, "install-unlabelled", nil)
		for _, flavour := range fluxFlavours {
			By(flavour)
			pod := golden(ctx, flavour, here)
			dry := made(ctx, pod, client.DryRunAll)
			real := made(ctx, pod)
			for _, got := range []*corev1.Pod{dry, real} {
				h := holder(got)
				Expect(h).NotTo(BeNil())
				Expect(h.Image).To(Equal(cluster.HolderImage))
				Expect(*h.RestartPolicy).To(Equal(corev1.ContainerRestartPolicyAlways))
				Expect(h.VolumeMounts).To(ContainElement(HaveField("MountPath", tokenPath)), "it reaches the API server as its controller does")
				Expect(got.Annotations).To(HaveKeyWithValue(v1alpha1.InjectedAnnotation, "kustomize-controller"))
			}
			alone := made(ctx, golden(ctx, flavour, "install-unlabelled"))
			Expect(holder(alone)).To(BeNil(), "the namespace does not let holders in")
			Expect(itself(real)).To(Equal(itself(alone)))
		}
		Expect(reviews(ctx, "Injected")).To(BeNumerically(">=", 2*len(fluxFlavours)))
	})

	It("of Argo CD is recognised and left alone in every flavour, as are all other controllers", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		here := namespace(ctx, "install-argo", nil)
		for _, folder := range append(append([]string{}, argoFlavours...), otherControllers...) {
			By(folder)
			Expect(holder(made(ctx, golden(ctx, folder, here)))).To(BeNil())
		}
		off := injectorCount(ctx, `holdfast_injector_reviews_total{flavour="argocd-application-controller",outcome="FlavourOff"}`)
		Expect(off).To(BeNumerically("==", len(argoFlavours)))
		Expect(injectorCount(ctx, `holdfast_injector_reviews_total{flavour="",outcome="NotRecognised"}`)).To(BeZero(), "nobody else's pods are asked about")
	})

	It("may opt out", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		pod := golden(ctx, "flux-install", namespace(ctx, "install-optout", nil))
		pod.Annotations[v1alpha1.InjectLabel] = v1alpha1.InjectDisabled
		got := made(ctx, pod)
		Expect(holder(got)).To(BeNil())
		Expect(reviews(ctx, "OptedOut")).To(BeNumerically("==", 1))
	})

	It("follows a policy that changes, and the last good one when it is changed for the worse", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		DeferCleanup(func() { Expect(world.WritePolicy(cluster.DefaultPolicy())).To(Succeed()) })
		pod := golden(ctx, "flux-install", namespace(ctx, "install-policy", nil))
		image := func() string { return holder(made(ctx, pod, client.DryRunAll)).Image }
		Expect(world.WritePolicy("image: registry.example/holdfast:next\n")).To(Succeed())
		Eventually(image, "20s").Should(Equal("registry.example/holdfast:next"))
		Expect(world.WritePolicy("image: [")).To(Succeed())
		Eventually(func() float64 { return injectorCount(ctx, "holdfast_injector_policy_refused") }, "20s").Should(BeNumerically("==", 2))
		Expect(image()).To(Equal("registry.example/holdfast:next"))
	})

	It("is admitted with its holder under Pod Security restricted and under a quota", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		By("B6: every container is held to restricted")
		restricted := namespace(ctx, "install-restricted", map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
		})
		admitted := 0
		for _, flavour := range fluxFlavours {
			pod := golden(ctx, flavour, restricted)
			if err := admin().Create(ctx, pod); err != nil { // a controller that is not restricted itself
				Expect(err).To(MatchError(And(ContainSubstring(`container "manager"`), Not(ContainSubstring(v1alpha1.HolderContainer)))), flavour)
				continue
			}
			Expect(holder(pod)).NotTo(BeNil(), flavour)
			admitted++
		}
		Expect(admitted).To(BeNumerically(">", len(fluxFlavours)/2))

		By("B7: every container needs requests and limits")
		limited := namespace(ctx, "install-quota", nil)
		quota(ctx, limited, amounts("requests.cpu=4 requests.memory=8Gi limits.cpu=8 limits.memory=8Gi"))
		pod := golden(ctx, "flux-install", limited)
		Expect(holder(made(ctx, pod))).NotTo(BeNil())
		bare := pod.DeepCopy()
		bare.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		Expect(admin().Create(ctx, bare)).To(MatchError(ContainSubstring("must specify")), "the quota does ask for them")
	})
})

// itself is what a pod says of itself, without its holder and what differs from pod to pod, as JSON.
func itself(pod *corev1.Pod) string {
	GinkgoHelper()
	p := pod.DeepCopy()
	if holder(p) != nil {
		p.Spec.InitContainers = p.Spec.InitContainers[:len(p.Spec.InitContainers)-1]
	}
	if len(p.Spec.InitContainers) == 0 {
		p.Spec.InitContainers = nil
	}
	delete(p.Annotations, v1alpha1.InjectedAnnotation)
	if len(p.Annotations) == 0 {
		p.Annotations = nil
	}
	p.ObjectMeta = metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations, GenerateName: p.GenerateName}
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Projected != nil {
			p.Spec.Volumes[i].Name = "token" // the API server's name for it is made up
		}
	}
	for i := range p.Spec.Containers {
		for j := range p.Spec.Containers[i].VolumeMounts {
			if m := &p.Spec.Containers[i].VolumeMounts[j]; m.MountPath == tokenPath {
				m.Name = "token"
			}
		}
	}
	p.Status = corev1.PodStatus{}
	text, err := json.MarshalIndent(p, "", " ")
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// quota limits a namespace. No controller counts in this world, so the story writes down the start.
func quota(ctx context.Context, namespace string, hard corev1.ResourceList, scopes ...corev1.ResourceQuotaScope) {
	GinkgoHelper()
	q := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}, Spec: corev1.ResourceQuotaSpec{Hard: hard, Scopes: scopes},
	}
	Expect(admin().Create(ctx, q)).To(Succeed())
	q.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{}}
	for name := range hard {
		q.Status.Used[name] = resource.MustParse("0")
	}
	Expect(admin().Status().Update(ctx, q)).To(Succeed())
}
