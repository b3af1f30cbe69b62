package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// later runs the holder with a clock that is ahead, until the end of the story: what takes minutes need not be waited for.
func later(ctx context.Context, ahead time.Duration) {
	GinkgoHelper()
	if world.Running(cluster.Holder) {
		Expect(world.StopHolder(false)).To(Succeed())
	}
	Expect(world.StartHolderAhead(ctx, ahead)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if world.Running(cluster.Holder) {
			Expect(world.StopHolder(true)).To(Succeed())
		}
		Expect(world.StartHolder(ctx)).To(Succeed())
	})
}

// slowTeam is a team whose apply waits for a claim to be bound, which nothing in this world does but healthy.
func slowTeam(ctx context.Context, name string) *scene.Team {
	GinkgoHelper()
	t := settledTeam(ctx, scene.Options{Name: name, Quiet: time.Hour, Files: map[string]string{
		"apps/settings.yaml": scene.Settings(name, "info"),
		"apps/data.yaml": fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: %s}\n"+
			"spec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n", name),
	}})
	by(ctx, t, "kustomization", `{"spec":{"wait":true,"timeout":"20m"}}`)
	return t
}

func healthy(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "pvc", "data", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Bound"}}`)
}

var _ = Describe("A token that is handled though nothing was applied", Label("flux"), func() {
	// B10. With intervals of a second a Kustomization that stayed resumed would run again and again.
	DescribeTable("ends Failed, suspended before any retry", func(ctx SpecContext, name string, prepare func(context.Context, *scene.Team) string, says string) {
		Expect(world.RestartWith(ctx, cluster.KustomizeController, "--requeue-dependency=1s")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(world.RestartWith(ctx, cluster.KustomizeController)).To(Succeed()) })
		t := stillTeam(ctx, name)
		by(ctx, t, "kustomization", `{"spec":{"retryInterval":"1s"}}`)
		commit := prepare(ctx, t)
		before := runs(t)
		ask(ctx, t, "r1", commit)
		Expect(ends(ctx, t, "r1", v1alpha1.OperationFailed).Message).To(ContainSubstring(says))
		Expect(answered(ctx, t, "r1", v1alpha1.OutcomeFailed).Message).To(ContainSubstring(says))
		readyOf(ctx, t, v1alpha1.ReasonApplyFailed)
		Consistently(func() int { return runs(t) - before }).
			WithTimeout(2500 * time.Millisecond).WithPolling(250 * time.Millisecond).Should(Equal(1))
		Expect(level(ctx, t)).To(Equal("info"))
	},
		Entry("when a dependency is not ready", storyBound, "ops-depends", func(ctx context.Context, t *scene.Team) string {
			by(ctx, t, "kustomization", `{"spec":{"dependsOn":[{"name":"nobody"}]}}`)
			return pushed(ctx, t, "debug")
		}, "DependencyNotReady"),
		Entry("when the artifact is gone", storyBound, "ops-artifact", func(ctx context.Context, t *scene.Team) string {
			commit := pushed(ctx, t, "debug")
			g, err := t.GitRepository(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(os.Remove(filepath.Join(world.Dir, "artifacts", g.Status.Artifact.Path))).To(Succeed())
			return commit
		}, "ArtifactFailed"),
		Entry("when the build fails", storyBound, "ops-build", func(ctx context.Context, t *scene.Team) string {
			return pushFiles(ctx, t, "Name what is not there", map[string]string{"apps/kustomization.yaml": "resources: [missing.yaml]\n"})
		}, "BuildFailed"),
	)
})

var _ = Describe("An operation that does not end", Label("flux"), func() {
	It("is Unresolved at the deadline and followed by every holder, and others on its source wait", storyBound, func(ctx SpecContext) { // B15
		t := slowTeam(ctx, "ops-health")
		other := stillTeam(ctx, "ops-waiting")
		By("a second Kustomization comes to use the source of the first")
		kubectl(ctx, cluster.Admin, "-n", other.Name, "patch", "gitprovider", "repo", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"url":%q}}`, world.Git.URL(t.Name)))
		by(ctx, other, "kustomization", fmt.Sprintf(`{"spec":{"sourceRef":{"name":%q}}}`, t.Name))

		commit := pushed(ctx, t, "debug")
		ask(ctx, t, "r1", commit)
		token := reaches(ctx, t, "r1", v1alpha1.OperationSettling).SuspendToken
		generation := kustomization(ctx, other).Generation
		ask(ctx, other, "s1", commit)
		waits := func() {
			GinkgoHelper()
			Expect(t.Await(ctx, "the second waits", func(ctx context.Context) (bool, string, error) {
				f, err := other.Trigger(ctx)
				c := status.Get(f.Status.Conditions, v1alpha1.ConditionReconciling)
				if c == nil {
					return false, scene.Say(f), err
				}
				return c.Message == "waiting for the operation of FluxTrigger "+t.Name+"/web, which uses the same GitRepository", c.Message, err
			})).To(Succeed())
			Expect(kustomization(ctx, other).Generation).To(Equal(generation))
		}
		waits()

		for range 2 { // the second is another process, and tells nothing twice
			later(ctx, 6*time.Minute)
			Expect(reaches(ctx, t, "r1", v1alpha1.OperationUnresolved).SuspendToken).To(Equal(token))
			readyOf(ctx, t, v1alpha1.ReasonOperationUnresolved)
			_, err := t.AwaitEvent(ctx, v1alpha1.ReasonApplyUnresolved, "web") // told after the status is written
			Expect(err).NotTo(HaveOccurred())
			waits()
		}
		Expect(toldTimes(ctx, t, v1alpha1.ReasonApplyUnresolved)).To(Equal(1))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		Expect(level(ctx, t)).To(Equal("debug")) // the run goes on; only its health is not known

		healthy(ctx, t)
		Expect(ends(ctx, t, "r1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		readyOf(ctx, t, v1alpha1.ReasonSucceeded)
		Expect(ends(ctx, other, "s1", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
	})

	It("and that nobody followed for more than a minute is suspended, told, and never a success", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "ops-unfollowed")
		commit := pushed(ctx, t, "debug")
		thaw := freeze(cluster.KustomizeController)
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationRunning)
		crashHolder()
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
		later(ctx, 2*time.Minute)
		op := reaches(ctx, t, "r1", v1alpha1.OperationSettling)
		Expect(op.Abandoned).To(Equal(v1alpha1.ReasonOperationUnfollowed))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		thaw()
		Expect(ends(ctx, t, "r1", v1alpha1.OperationFailed).Message).To(HavePrefix(string(v1alpha1.ReasonOperationUnfollowed)))
		Expect(toldTimes(ctx, t, v1alpha1.ReasonOperationUnfollowed)).To(Equal(1))
		ask(ctx, t, "r2", commit)
		ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
	})
})
