package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const shardKey = "sharding.fluxcd.io/key"

// B20
var _ = Describe("Of a sharded kustomize-controller with a holder in each shard", Label("flux"), func() {
	main := cluster.Pair{Pod: "kc-main", Selector: "!" + shardKey}
	shard := cluster.Pair{Pod: "kc-shard1", Selector: shardKey + "=shard1"}

	// actedBy waits until the holder of that pod is the one that acts.
	actedBy := func(ctx context.Context, t *scene.Team, p cluster.Pair) {
		GinkgoHelper()
		Expect(t.Await(ctx, "the holder of "+p.Pod+" acts", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return f.Status.Holder == heartbeat(p.Pod), f.Status.Holder, err
		})).To(Succeed())
	}

	It("exactly the one acts whose controller sees the Kustomization", storyBound, func(ctx SpecContext) {
		pairs(ctx, main, shard)
		plain := stillTeam(ctx, "shard-none")
		labelled := settledTeam(ctx, scene.Options{Name: "shard-one", Quiet: time.Hour, Labels: map[string]string{shardKey: "shard1"}})
		actedBy(ctx, plain, main)
		actedBy(ctx, labelled, shard)

		By("and the other does not stand in for it")
		commit := pushed(ctx, labelled, "debug")
		Expect(world.Kill(cluster.In(shard.Pod, cluster.Holder))).To(Succeed())
		ask(ctx, labelled, "r1", commit)
		nothingStarts(ctx, labelled, "r1")
		Expect(world.Revive(ctx, cluster.In(shard.Pod, cluster.Holder))).To(Succeed())
		op := ends(ctx, labelled, "r1", v1alpha1.OperationSucceeded)
		Expect(op.Controller).To(Equal(leads(ctx, shard)))
	})

	It("the next takes over when the label is moved, without a resume in between", storyBound, func(ctx SpecContext) {
		pairs(ctx, main, shard)
		t := settledTeam(ctx, scene.Options{Name: "shard-move", Quiet: time.Hour, Labels: map[string]string{shardKey: "shard1"}})
		actedBy(ctx, t, shard)
		before := kustomization(ctx, t)

		for _, step := range []struct {
			to     cluster.Pair
			labels string
			level  string
		}{
			{main, `{"metadata":{"labels":{"` + shardKey + `":null}}}`, "debug"},
			{shard, `{"metadata":{"labels":{"` + shardKey + `":"shard1"}}}`, "trace"},
		} {
			commit := pushed(ctx, t, step.level)
			by(ctx, t, "kustomization", step.labels)
			actedBy(ctx, t, step.to)
			Expect(t.AwaitHeld(ctx)).To(Succeed())
			after := kustomization(ctx, t)
			Expect(after.Generation).To(Equal(before.Generation), "a resume would have made another generation")
			Expect(after.Status.LastAppliedRevision).To(Equal(before.Status.LastAppliedRevision))
			ask(ctx, t, step.level, commit)
			op := ends(ctx, t, step.level, v1alpha1.OperationSucceeded)
			Expect(op.Controller).To(Equal(leads(ctx, step.to)))
			Expect(level(ctx, t)).To(Equal(step.level))
			before = kustomization(ctx, t)
		}
	})
})
