package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const cancelsGate = "CancelHealthCheckOnNewRevision=true"

// frozen is whether the team's source is suspended, and whether the holder owns that.
func frozen(ctx context.Context, t *scene.Team) (suspended, ours bool) {
	GinkgoHelper()
	g, err := t.GitRepository(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, m := range g.ManagedFields {
		ours = ours || m.Manager == v1alpha1.HolderFieldManager && m.Operation == "Apply"
	}
	return g.Spec.Suspend, ours
}

// letGo waits until nothing of the holder's is on the source, and returns whether it is suspended.
func letGo(ctx context.Context, t *scene.Team) bool {
	GinkgoHelper()
	suspended := false
	Expect(t.Await(ctx, "the source is let go", func(ctx context.Context) (bool, string, error) {
		var ours bool
		suspended, ours = frozen(ctx, t)
		return !ours, fmt.Sprintf("suspended %v", suspended), nil
	})).To(Succeed())
	return suspended
}

// checking asks for the commit and waits until its health is checked: all is applied, the source is frozen and the
// Kustomization is resumed.
func checking(ctx context.Context, t *scene.Team, want string) (commit string) {
	GinkgoHelper()
	commit = pushed(ctx, t, want)
	ask(ctx, t, "r1", commit)
	Expect(t.Await(ctx, "it is applied and checked", func(ctx context.Context) (bool, string, error) {
		l, err := world.Kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
		return l == want, l, err
	})).To(Succeed())
	Expect(trigger(ctx, t).Status.Operation.FreezeToken).NotTo(BeEmpty())
	suspended, ours := frozen(ctx, t)
	Expect([]bool{suspended, ours, kustomization(ctx, t).Spec.Suspend}).To(Equal([]bool{true, true, false}))
	return commit
}

// stillChecking expects that nothing ends the check.
func stillChecking(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Consistently(func(g Gomega) {
		ready := apimeta.FindStatusCondition(kustomization(ctx, t).Status.Conditions, meta.ReadyCondition)
		g.Expect(ready.Reason).To(Equal(meta.ProgressingReason), ready.Message)
	}).WithTimeout(2 * time.Second).WithPolling(50 * time.Millisecond).Should(Succeed())
}

var _ = Describe("Where kustomize-controller gives up a health check as soon as its Kustomization is written", Label("flux"), Ordered, func() {
	start := func(ctx context.Context) {
		GinkgoHelper()
		Expect(world.StartHolder(ctx, "--controller-feature-gates="+cancelsGate)).To(Succeed())
	}
	BeforeAll(func(ctx SpecContext) {
		Expect(world.StopHolder(true)).To(Succeed())
		Expect(world.RestartWith(ctx, cluster.KustomizeController, "--feature-gates="+cancelsGate)).To(Succeed())
		start(ctx)
	})
	AfterAll(func(ctx SpecContext) {
		if world.Running(cluster.Holder) {
			Expect(world.StopHolder(true)).To(Succeed())
		}
		Expect(world.RestartWith(ctx, cluster.KustomizeController)).To(Succeed())
		Expect(world.StartHolder(ctx)).To(Succeed())
	})

	It("a slow check runs to its end, a push waits, and the source is let go afterwards", storyBound, func(ctx SpecContext) { // B15
		t := slowTeam(ctx, "freeze-slow")
		commit := checking(ctx, t, "debug")
		other := pushLevel(ctx, t, "trace")
		by(ctx, t, "gitrepository", stamp)
		stillChecking(ctx, t)
		g, err := t.GitRepository(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(g.Status.Artifact.HasRevision("main@sha1:" + commit)).To(BeTrue())

		healthy(ctx, t)
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(letGo(ctx, t)).To(BeFalse())
		fetched(ctx, t, other)
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("a holder that crashes leaves the source frozen only until the next one has seen the end", storyBound, func(ctx SpecContext) {
		t := slowTeam(ctx, "freeze-crash")
		commit := checking(ctx, t, "debug")
		Expect(world.StopHolder(false)).To(Succeed())
		healthy(ctx, t)
		Expect(t.Await(ctx, "the check ends", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+commit, k.Status.LastAppliedRevision, err
		})).To(Succeed())
		suspended, _ := frozen(ctx, t)
		Expect(suspended).To(BeTrue())
		start(ctx)
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(letGo(ctx, t)).To(BeFalse())
	})

	It("a holder that is told to stop suspends the Kustomization, and the next one lets the source go", storyBound, func(ctx SpecContext) {
		t := slowTeam(ctx, "freeze-stop")
		checking(ctx, t, "debug")
		Expect(world.StopHolder(true)).To(Succeed())
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		start(ctx)
		Expect(t.Await(ctx, "the operation ends", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return err == nil && f.Status.Operation.RequestID == "r1" && f.Status.Operation.Phase.Final(), scene.Say(f), err
		})).To(Succeed())
		// Stopping is the one suspend that may disturb the check, and then what was asked for has not succeeded.
		Expect(trigger(ctx, t).Status.Operation.Phase).To(Equal(v1alpha1.OperationFailed))
		Expect(letGo(ctx, t)).To(BeFalse())
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	})

	It("an operation that is withdrawn before its resume lets the source go, after a crash too", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "freeze-withdrawn")
		commit := pushed(ctx, t, "debug")
		allow := deny(ctx, t, "!object.spec.suspend")
		ask(ctx, t, "r1", commit)
		Expect(t.Await(ctx, "the source is frozen", func(ctx context.Context) (bool, string, error) {
			suspended, ours := frozen(ctx, t)
			return suspended && ours, "it is not", nil
		})).To(Succeed())
		Expect(world.StopHolder(false)).To(Succeed())
		by(ctx, t, "kustomization", `{"spec":{"path":"./"}}`) // not what was asked for any more
		allow()
		start(ctx)
		answered(ctx, t, "r1", v1alpha1.OutcomeRequestFailed)
		Expect(letGo(ctx, t)).To(BeFalse())
		Expect(level(ctx, t)).To(Equal("info"))
		Expect(trigger(ctx, t).Status.Operation.RequestID).NotTo(Equal("r1"))
	})

	It("a source that a person has suspended stays suspended", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "freeze-person")
		commit := pushed(ctx, t, "debug")
		by(ctx, t, "gitrepository", suspend)
		ask(ctx, t, "r1", commit)
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(letGo(ctx, t)).To(BeTrue())
		Expect(level(ctx, t)).To(Equal("debug"))
	})
})
