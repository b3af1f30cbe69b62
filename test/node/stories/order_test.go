package stories

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

func podStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("got its holder from the webhook, which the API server reaches by its Service", storyBound, func(ctx SpecContext) {
		pod := controllerPod(ctx)
		Expect(pod.Annotations).To(HaveKeyWithValue(v1alpha1.InjectedAnnotation, cluster.KustomizeController))
		holder := holderOf(pod)
		Expect(holder).NotTo(BeNil())
		Expect(holder.RestartPolicy).To(HaveValue(Equal(corev1.ContainerRestartPolicyAlways)))
		Expect(holder.Image).To(Equal(chartImage()))
		Expect(holder.Args).To(ContainElement("--controller-leader-election=true"), "as the controller's own flag says")

		var hook admissionregistrationv1.MutatingWebhookConfiguration
		Expect(admin().Get(ctx, client.ObjectKey{Name: "holdfast-injector"}, &hook)).To(Succeed())
		for _, w := range hook.Webhooks {
			Expect(w.ClientConfig.URL).To(BeNil())
			Expect(w.ClientConfig.Service.Name).To(Equal("holdfast-injector"))
			Expect(w.ClientConfig.CABundle).NotTo(BeEmpty(), "the injector wrote it")
		}
		Expect(kubectl(ctx, "-n", cluster.FluxNamespace, "get", "deployment", cluster.KustomizeController, "-o", "jsonpath={.spec.template.spec.initContainers}")).
			To(BeEmpty(), "nothing is changed in what Flux was installed with")
	})

	It("starts its holder before the controller, and stops it after", storyBound, func(ctx SpecContext) { // B8
		first := controllerPod(ctx)
		gone := deletePod(ctx, first)
		second := controllerPod(ctx)

		By("the one that came: in the times that the kubelet reports")
		of := statuses(second)
		Expect(of).To(HaveKey(v1alpha1.HolderContainer))
		Expect(of[manager].State.Running.StartedAt.Time).NotTo(BeTemporally("<", of[v1alpha1.HolderContainer].State.Running.StartedAt.Time))
		Expect(of[v1alpha1.HolderContainer].Started).To(HaveValue(BeTrue()))

		By("the one that went: in the times that the kubelet reports, and in the finer ones of its logs")
		Expect(gone.finished).To(And(HaveKey(manager), HaveKey(v1alpha1.HolderContainer)))
		Expect(gone.finished[v1alpha1.HolderContainer]).NotTo(BeTemporally("<", gone.finished[manager]))
		controller, holder := gone.logs[manager], gone.logs[v1alpha1.HolderContainer]
		Expect(controller).NotTo(BeEmpty())
		Expect(holder).NotTo(BeEmpty())
		AddReportEntry("the pod was gone after", gone.took.Round(100*time.Millisecond).String())
		Expect(holder[0].at).To(BeTemporally("<", controller[0].at), "the first words")
		Expect(holder[len(holder)-1].at).To(BeTemporally(">", controller[len(controller)-1].at), "the last words")
	})
}
