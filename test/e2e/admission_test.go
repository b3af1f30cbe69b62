package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var _ = Describe("A namespace that a KubeProvider does not admit", func() {
	It("is not mirrored and nothing of it is held, until a label admits it, and not mirrored any more once that is gone", Label("mirror", "flux"), storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "admission", NoHold: true})
		guarded := &v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: "guarded"}, Spec: v1alpha1.KubeProviderSpec{
			InCluster:           true,
			AllowCrossNamespace: v1alpha1.CrossNamespaceGrants{Appliers: true},
			AccessFrom: &v1alpha1.AccessFrom{NamespaceSelectors: []v1alpha1.NamespaceSelector{
				{MatchLabels: map[string]string{"holdfast-story": "admitted"}},
			}},
		}}
		Expect(t.Client.Create(ctx, guarded)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(t.Client.Delete(ctx, guarded)).To(Succeed()) })
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitTarget](objs).Spec.KubeProviderRef.Name = "guarded"
			part[*v1alpha1.FluxTrigger](objs).Spec.KubeProviderRef.Name = "guarded"
		})

		refused := func() {
			GinkgoHelper()
			target := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
			Expect(refuse(ctx, t, target, v1alpha1.ReasonNamespaceNotAuthorized)).To(And(ContainSubstring("spec.accessFrom"), ContainSubstring("guarded")))
			_, err := t.AwaitReason(ctx, target, v1alpha1.ConditionValidated, v1alpha1.ReasonNamespaceNotAuthorized)
			Expect(err).NotTo(HaveOccurred())
			trigger := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
			_, err = t.AwaitReason(ctx, trigger, v1alpha1.ConditionConfigured, v1alpha1.ReasonNamespaceNotAuthorized)
			Expect(err).NotTo(HaveOccurred())
		}
		refused()
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
		Expect(kustomization(ctx, t).Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))

		By("a label admits it")
		kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "holdfast-story=admitted")
		_, err := t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=3")
		_, err = t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())

		By("and without the label nothing is mirrored, what is in Git stays, and what is held stays held")
		before = head(ctx, t)
		kubectl(ctx, cluster.Admin, "label", "namespace", t.Name, "holdfast-story-")
		refused()
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=4")
		Expect(world.StopGitmirror(true)).To(Succeed()) // it pushes what it has
		DeferCleanup(func(ctx SpecContext) { Expect(world.StartGitmirror(ctx)).To(Succeed()) })
		Expect(head(ctx, t)).To(Equal(before), "an edit made then is not mirrored")
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	})
})

var _ = Describe("A trigger whose holder is gone", Label("mirror", "flux"), func() {
	It("is not believed, and asked again when a holder is there", storyBound, func(ctx SpecContext) { // B2
		t := settledTeam(ctx, scene.Options{Name: "admission-lost"})
		lost := func(message string) {
			GinkgoHelper()
			target, err := t.Target(ctx)
			Expect(err).NotTo(HaveOccurred())
			said, err := t.Within(healBound).AwaitReason(ctx, target, v1alpha1.ConditionApplyTriggerReady, v1alpha1.ReasonHolderMissing)
			Expect(err).NotTo(HaveOccurred())
			Expect(said).To(ContainSubstring(message))
		}
		crashHolder()
		lost("no holder answers")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		asked := f.Status.Request.ID
		pushLevel(ctx, t, "debug")
		fetched(ctx, t, head(ctx, t))
		Expect(request(ctx, t)).To(Equal(asked), "nothing is asked of nobody")
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue(), "and nothing is applied")

		Expect(world.StartHolder(ctx)).To(Succeed())
		Expect(t.Within(healBound).Await(ctx, "a holder is seen", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			return t.IsTrue(ctx, f, v1alpha1.ConditionHolderAvailable)
		})).To(Succeed())
		_, err = t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred(), fmt.Sprintf("request %s", request(ctx, t)))
	})
})
