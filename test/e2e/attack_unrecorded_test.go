package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// nothingApplied looks for a while whether anything is applied, with a reconcile asked for by hand.
func nothingApplied(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	before := kustomization(ctx, t)
	by(ctx, t, "kustomization", fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"look-%s"}}}`, before.ResourceVersion))
	Expect(t.Await(ctx, "the reconcile is handled", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		return k.Status.LastHandledReconcileAt != before.Status.LastHandledReconcileAt, k.Status.LastHandledReconcileAt, err
	})).To(Succeed())
	Consistently(func(g Gomega) {
		k := kustomization(ctx, t)
		g.Expect(k.Spec.Suspend).To(BeTrue())
		g.Expect(k.Status.LastAppliedRevision).To(Equal(before.Status.LastAppliedRevision))
		g.Expect(k.Status.History).To(Equal(before.Status.History))
		g.Expect(k.Status.Inventory).To(Equal(before.Status.Inventory))
	}).WithTimeout(time.Second).WithPolling(100 * time.Millisecond).Should(Succeed())
}

var _ = Describe("Nothing of a fetched push is applied", Label("flux", "attack"), func() {
	It("by a kustomize-controller that starts anew while no holder runs", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-alone")
		pushed(ctx, t, "debug")
		crashHolder()
		killController()
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		nothingApplied(ctx, t)
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("by taking the trigger away without its hand-back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "attack-away")
		pushed(ctx, t, "debug")
		thaw := freeze(cluster.Holder)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--wait=false")
		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "fluxtrigger", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		thaw()
		nothingApplied(ctx, t)
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("by changing what is applied: the source, the path, where to and as whom", storyBound, func(ctx SpecContext) {
		t, other := stillTeam(ctx, "attack-spec"), stillTeam(ctx, "attack-spec-other")
		pushed(ctx, other, "debug")
		for _, spec := range []string{
			fmt.Sprintf(`{"sourceRef":{"name":%q}}`, other.Name), `{"path":"./"}`, fmt.Sprintf(`{"targetNamespace":%q}`, other.Name),
			`{"interval":"1s","retryInterval":"1s","force":true}`, `{"serviceAccountName":"somebody"}`,
		} {
			by(ctx, t, "kustomization", `{"spec":`+spec+`}`)
			nothingApplied(ctx, t)
		}
		Expect([]string{level(ctx, t), level(ctx, other)}).To(Equal([]string{"info", "info"}))
	})

	It("by resuming it together with a source that cannot be: it is suspended again, and its trigger can go", storyBound, func(ctx SpecContext) { // B13
		t := stillTeam(ctx, "attack-nowhere")
		pushed(ctx, t, "debug")
		by(ctx, t, "kustomization", `{"spec":{"suspend":false,"sourceRef":{"name":"../nowhere"}}}`)
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		nothingApplied(ctx, t)
		by(ctx, t, "kustomization", fmt.Sprintf(`{"spec":{"sourceRef":{"name":%q}}}`, t.Name))
		nothingApplied(ctx, t)
		Expect(level(ctx, t)).To(Equal("info"))
		by(ctx, t, "kustomization", `{"spec":{"sourceRef":{"name":"../nowhere"}}}`)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)
	})

	It("by resuming it in the middle of a run: it is suspended again, and who did it is named", storyBound, func(ctx SpecContext) { // B13
		t := stillTeam(ctx, "attack-middle")
		commit, thaw := settling(ctx, t, "debug")
		first := trigger(ctx, t).Status.Operation.SuspendToken
		by(ctx, t, "kustomization", resume)
		Expect(t.Await(ctx, "it is suspended again", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			return f.Status.Operation.SuspendToken != first, first, nil
		})).To(Succeed())
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("kubectl-patch"))
		thaw()
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		pushed(ctx, t, "trace")
		nothingApplied(ctx, t)
		Expect(level(ctx, t)).To(Equal("debug"))
	})
})
