package stories

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func upgradeStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("leaves what is held as it is, with its commands as they are printed", storyBound, func(ctx SpecContext) {
		run := blocks("upgrade.md")
		Expect(run).To(HaveLen(5), "the last two, which need no pods, are run by test/e2e")
		before := kustomization(ctx, guideTeam)
		Expect(before.Spec.Suspend).To(BeTrue())
		old := controllerPod(ctx)

		By("the chart, which touches no pod of Flux")
		shell(ctx, run[0])
		Expect(controllerPod(ctx).UID).To(Equal(old.UID))
		Expect(kubectl(ctx, "-n", "holdfast-system", "get", "secret", "-l", "owner=helm,name=holdfast", "-o", "name")).
			To(ContainSubstring("sh.helm.release.v1.holdfast.v2"))

		By("and the holders, with the pods they are in")
		shell(ctx, run[1])
		pod := controllerPod(ctx)
		Expect(pod.UID).NotTo(Equal(old.UID))
		Expect(shell(ctx, run[2])).To(ContainSubstring(pod.Name + " " + chartImage() + "\n"))

		after := kustomization(ctx, guideTeam)
		Expect(after.Spec.Suspend).To(BeTrue())
		Expect(after.Generation).To(Equal(before.Generation), "nobody resumed it in between")
		Expect(after.Status.LastAppliedRevision).To(Equal(before.Status.LastAppliedRevision))
	})
}
