package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// rival makes another trigger for the team's Kustomization, with a GitTarget that names it.
func rival(ctx context.Context, t *scene.Team, name string) *v1alpha1.FluxTrigger {
	GinkgoHelper()
	f, g := part[*v1alpha1.FluxTrigger](t.Holdfast()), part[*v1alpha1.GitTarget](t.Holdfast())
	f.Name, g.Name, g.Spec.Path, g.Spec.ApplyTriggerRef.Name = name, name, name, name
	f.Spec.QuietPeriod = &metav1.Duration{Duration: time.Hour}
	for _, o := range []client.Object{f, g} {
		Expect(t.Client.Create(ctx, o)).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) {
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gittarget", name, "--ignore-not-found")
	})
	return f
}

// heldBy waits until the trigger holds the team's Kustomization.
func heldBy(ctx context.Context, t *scene.Team, f *v1alpha1.FluxTrigger) {
	GinkgoHelper()
	_, err := t.AwaitReason(ctx, f, v1alpha1.ConditionHeld, v1alpha1.ReasonSuspended)
	Expect(err).NotTo(HaveOccurred())
	Expect(kustomization(ctx, t).Annotations[v1alpha1.HeldByAnnotation]).To(HaveSuffix("/" + string(f.UID)))
}

var _ = Describe("Of two triggers for one Kustomization", Label("flux"), func() {
	It("the older one holds, the other says who is before it and waits, also while the first applies", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "line-two")
		first := trigger(ctx, t)
		late := rival(ctx, t, "late")
		message, err := t.AwaitReason(ctx, late, v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("FluxTrigger line-two/web"))
		kubectl(ctx, cluster.Admin, "-n", t.Name, "wait", "--for=condition=Stalled", "fluxtrigger/late", "--timeout=30s")
		Expect(late.Finalizers).To(BeEmpty(), "it has adopted nothing")

		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		heldBy(ctx, t, first)
		Expect(t.Client.Get(ctx, client.ObjectKeyFromObject(late), late)).To(Succeed())
		Expect(late.Status.Operation).To(BeNil())
	})

	It("the one that holds keeps it when an older one becomes able to hold", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "line-older", NoHold: true, Quiet: time.Hour})
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitTarget](objs).Spec.ApplyTriggerRef = nil
		})
		_, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonNotReferenced)
		Expect(err).NotTo(HaveOccurred())
		late := rival(ctx, t, "late")
		heldBy(ctx, t, late)

		patched(ctx, t.Name, "gittarget", "web", `{"spec":{"applyTriggerRef":{"kind":"FluxTrigger","name":"web"}}}`)
		message, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("FluxTrigger line-older/late"))
		heldBy(ctx, t, late)
	})

	It("the one that applies keeps it until the operation is over, and then the next takes over and applies nothing that nobody asked for",
		storyBound, func(ctx SpecContext) {
			t := stillTeam(ctx, "line-next")
			late := rival(ctx, t, "late")
			_, err := t.AwaitReason(ctx, late, v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
			Expect(err).NotTo(HaveOccurred())
			_, thaw := settling(ctx, t, "debug")
			kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
			Expect(t.Await(ctx, "the deletion is seen", func(ctx context.Context) (bool, string, error) {
				f, err := t.Trigger(ctx)
				return err == nil && f.Status.ReleasingSince != nil, scene.Say(f), err
			})).To(Succeed())
			Expect(t.Client.Get(ctx, client.ObjectKeyFromObject(late), late)).To(Succeed())
			Expect(late.Finalizers).To(BeEmpty(), "the other is in the middle of an apply")
			thaw()
			heldBy(ctx, t, late)
			Expect(level(ctx, t)).To(Equal("debug"))
		})

	It("the next takes over what is fetched and not applied, as it is", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "line-still")
		late := rival(ctx, t, "late")
		_, err := t.AwaitReason(ctx, late, v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
		Expect(err).NotTo(HaveOccurred())
		pushed(ctx, t, "trace")
		before := kustomization(ctx, t)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		heldBy(ctx, t, late)
		after := kustomization(ctx, t)
		Expect(after.Generation).To(Equal(before.Generation), "a resume would have made another generation")
		Expect(after.Status.History).To(Equal(before.Status.History))
		Expect(level(ctx, t)).To(Equal("info"))
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonReleased, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("FluxTrigger line-still/late"))

		By("and hands it back in its turn")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "late", "--timeout=60s")
		handedBack(ctx, t)
	})

	It("neither is left in the way when both are deleted at once", storyBound, func(ctx SpecContext) {
		for round := range 3 {
			t := stillTeam(ctx, fmt.Sprintf("line-both-%d", round))
			late := rival(ctx, t, "late")
			_, err := t.AwaitReason(ctx, late, v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
			Expect(err).NotTo(HaveOccurred())
			kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "late", "--timeout=60s")
			handedBack(ctx, t)
			Expect(kustomization(ctx, t).Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
		}
	})

	It("the one in a namespace of its own counts as well", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "line-ns")
		guest := team(ctx, scene.Options{Name: "line-guest", NoHold: true, Quiet: time.Hour})
		create(ctx, guest, func(objs []client.Object) {
			part[*v1alpha1.FluxTrigger](objs).Spec.KustomizationRef.Name = t.Name
			part[*v1alpha1.GitProvider](objs).Spec.URL = world.Git.URL(t.Name)
		})
		message, err := t.AwaitReason(ctx, &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: guest.Name, Name: "web"}},
			v1alpha1.ConditionConfigured, v1alpha1.ReasonHeldByAnotherTrigger)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("FluxTrigger line-ns/web"))
		untouched(ctx, guest)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		Expect(guest.AwaitHeld(ctx)).To(Succeed())
	})
})
