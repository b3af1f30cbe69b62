package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// quiet is how long a story looks for what must not happen, which a holder would do in a fraction of it.
const quiet = 5 * time.Second

// pairs has the pairs run in the place of the usual controller and holder until the end of the story. They are started one
// after the other, so that of those that compete the first leads: a Lease that an earlier story's pair left is taken away
// before, since it names a process of the same pod and is free for whoever sees it run out first.
func pairs(ctx context.Context, all ...cluster.Pair) {
	GinkgoHelper()
	Expect(world.StopHolder(true)).To(Succeed())
	Expect(world.Kill(cluster.KustomizeController)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, p := range all {
			Expect(world.StopPair(p.Pod, false)).To(Succeed())
		}
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		Expect(world.StartHolder(ctx)).To(Succeed())
	})
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			for _, p := range all {
				AddReportEntry(p.Pod, world.LogTail(cluster.In(p.Pod, cluster.Holder)))
			}
		}
	})
	admin, err := world.Client(cluster.Admin)
	Expect(err).NotTo(HaveOccurred())
	left, err := elections(ctx, admin)
	Expect(err).NotTo(HaveOccurred())
	for _, l := range left {
		Expect(admin.Delete(ctx, &l)).To(Succeed())
	}
	for _, p := range all {
		Expect(world.StartPair(ctx, p)).To(Succeed())
		if p.Selector != "" || p.Pod == all[0].Pod {
			leads(ctx, p)
		}
	}
}

// elections returns the Leases for which kustomize-controllers compete.
func elections(ctx context.Context, c client.Client) ([]coordinationv1.Lease, error) {
	var all coordinationv1.LeaseList
	err := c.List(ctx, &all, client.InNamespace(cluster.FluxNamespace))
	return slices.DeleteFunc(all.Items, func(l coordinationv1.Lease) bool {
		return !strings.HasPrefix(l.Name, "kustomize-controller-")
	}), err
}

// leads waits until the pair's controller leads those it competes with, and returns the identity by which it does.
func leads(ctx context.Context, p cluster.Pair) string {
	GinkgoHelper()
	admin, err := world.Client(cluster.Admin)
	Expect(err).NotTo(HaveOccurred())
	identity := ""
	Eventually(func() (string, error) {
		all, err := elections(ctx, admin)
		for _, l := range all {
			if h := l.Spec.HolderIdentity; h != nil && strings.HasPrefix(*h, p.Pod+"_") {
				identity = *h
			}
		}
		return identity, err
	}).WithContext(ctx).WithTimeout(time.Minute).WithPolling(20 * time.Millisecond).ShouldNot(BeEmpty())
	return identity
}

// heartbeat is how the holder of a pod names itself in the status of a trigger.
func heartbeat(pod string) string { return cluster.FluxNamespace + "/holdfast-holder-" + pod }

// nothingStarts looks for an operation of the request, which there must not be.
func nothingStarts(ctx context.Context, t *scene.Team, id string) {
	GinkgoHelper()
	before := kustomization(ctx, t).Generation
	Consistently(func(g Gomega) {
		f, err := t.Trigger(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		if op := f.Status.Operation; op != nil {
			g.Expect(op.RequestID).NotTo(Equal(id))
		}
		g.Expect(kustomization(ctx, t).Generation).To(Equal(before))
	}).WithTimeout(quiet).WithPolling(100 * time.Millisecond).Should(Succeed())
}

// once says that the history has one operation of each request, in that order, and none that nobody asked for.
func once(ctx context.Context, t *scene.Team, ids ...string) {
	GinkgoHelper()
	f, err := t.Trigger(ctx)
	Expect(err).NotTo(HaveOccurred())
	var got []string
	for _, op := range f.Status.History[:min(len(ids), len(f.Status.History))] { // newest first
		got = append([]string{op.RequestID}, got...)
	}
	Expect(got).To(Equal(ids))
}

var _ = Describe("Of two controllers with a holder each", Label("flux"), func() {
	a, b := cluster.Pair{Pod: "kc-a"}, cluster.Pair{Pod: "kc-b"}

	It("the holder starts nothing whose controller does not lead, also when the other holder is away", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-standby")
		commit := pushed(ctx, t, "debug")
		Expect(world.Kill(cluster.In(a.Pod, cluster.Holder))).To(Succeed())
		ask(ctx, t, "r1", commit)
		nothingStarts(ctx, t, "r1")

		Expect(world.Revive(ctx, cluster.In(a.Pod, cluster.Holder))).To(Succeed())
		op := ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(op.Controller).To(Equal(leads(ctx, a)))
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Status.Holder).To(Equal(heartbeat(a.Pod)))
	})

	// takenOver expects the second pair to end the operation, no sooner than one Lease after it came to lead: until then a
	// process of the first that is only late could still write. It does so with a suspend of its own.
	takenOver := func(ctx context.Context, t *scene.Team, phase v1alpha1.OperationPhase, before string) *v1alpha1.Operation {
		GinkgoHelper()
		identity := leads(ctx, b)
		began := time.Now()
		op := ends(ctx, t, "r1", phase)
		Expect(time.Since(began)).To(BeNumerically(">=", cluster.PairLease-time.Second), "before the old Lease had passed")
		Expect(op.SuspendToken).NotTo(Equal(before))
		Expect(op.Controller).To(Equal(identity))
		return op
	}

	It("the second ends what the first had suspended when its pod was gone, and does the next", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-settling")
		commit, thaw := settling(ctx, t, "debug")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(world.StopPair(a.Pod, false)).To(Succeed())
		thaw()
		takenOver(ctx, t, v1alpha1.OperationFailed, f.Status.Operation.SuspendToken)
		Expect(level(ctx, t)).To(Equal("info")) // its run was cut off in its first step

		ask(ctx, t, "r2", commit)
		Expect(ends(ctx, t, "r2", v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(level(ctx, t)).To(Equal("debug"))
		once(ctx, t, "r1", "r2")
	})

	It("the second follows what the first had resumed when its pod was gone", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-running")
		commit := pushed(ctx, t, "debug")
		freeze(cluster.In(a.Pod, cluster.KustomizeController))
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationRunning)
		Expect(world.StopPair(a.Pod, false)).To(Succeed())
		op := takenOver(ctx, t, v1alpha1.OperationSucceeded, "")
		Expect(op.AppliedRevision).To(Equal("main@sha1:" + commit))
		Expect(level(ctx, t)).To(Equal("debug"))
		once(ctx, t, "r1")
	})

	It("the first was only paused and comes back when the second leads: what it still does is in the verdict", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-paused")
		commit, thaw := settling(ctx, t, "debug")
		late := freeze(cluster.In(a.Pod, cluster.KustomizeController))
		leads(ctx, b)
		thaw()
		late()
		var op *v1alpha1.Operation
		Expect(t.Await(ctx, "the operation ends", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			op = f.Status.Operation
			return op.Phase.Final(), string(op.Phase) + ": " + op.Message, nil
		})).To(Succeed())
		Expect(world.Running(cluster.In(a.Pod, cluster.KustomizeController))).To(BeFalse(), "who has lost its Lease ends")
		applied := level(ctx, t) == "debug"
		AddReportEntry("applied by the one that was paused", fmt.Sprint(applied))
		if op.Phase == v1alpha1.OperationSucceeded {
			Expect(applied).To(BeTrue())
		}
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		ask(ctx, t, "r2", commit)
		Expect(t.Await(ctx, "the next request is answered", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil {
				return false, "", err
			}
			h := f.Status.LastHandledRequest
			return h.ID == "r2" && (h.Outcome == v1alpha1.OutcomeSucceeded || h.Outcome == v1alpha1.OutcomeCurrent), scene.Say(f), nil
		})).To(Succeed())
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("the second is not misled by the last word of the first, which came back only to say what it had handled", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-word")
		_, thaw := settling(ctx, t, "debug")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		op := f.Status.Operation
		Expect(world.StopPair(a.Pod, false)).To(Succeed())
		thaw() // or the second hangs in what else there is to fetch
		leads(ctx, b)
		Expect(t.Await(ctx, "the second handled the suspend", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastHandledReconcileAt == op.SuspendToken, k.Status.LastHandledReconcileAt, err
		})).To(Succeed())
		// A run writes the token it began with when it returns, whatever another process has written meanwhile.
		word := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"lastHandledReconcileAt":%q}}`, op.Token))
		Expect(t.Client.Status().Patch(ctx, kustomization(ctx, t), word, client.FieldOwner("gotk-kustomize-controller"))).To(Succeed())
		Expect(ends(ctx, t, "r1", v1alpha1.OperationFailed).SuspendToken).NotTo(Equal(op.SuspendToken))
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("the first stops in order and gives its Lease up at once: the second waits for the whole of it all the same", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-order")
		_, thaw := settling(ctx, t, "debug")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(world.StopPair(a.Pod, true)).To(Succeed())
		thaw()
		takenOver(ctx, t, v1alpha1.OperationFailed, f.Status.Operation.SuspendToken)
		Expect(level(ctx, t)).To(Equal("info"))
		once(ctx, t, "r1")
	})

	It("the first crashes and then its holder stops, which suspends what is resumed: the second ends the operation", storyBound, func(ctx SpecContext) {
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-stop")
		commit := pushed(ctx, t, "debug")
		thaw := freeze(cluster.In(a.Pod, cluster.KustomizeController))
		ask(ctx, t, "r1", commit)
		reaches(ctx, t, "r1", v1alpha1.OperationRunning)
		Expect(world.Kill(cluster.In(a.Pod, cluster.KustomizeController))).To(Succeed()) // before it could begin
		thaw()
		Expect(world.StopPair(a.Pod, true)).To(Succeed())
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
		takenOver(ctx, t, v1alpha1.OperationFailed, "")
		Expect(level(ctx, t)).To(Equal("info"))
		once(ctx, t, "r1")
	})

	It("the second ends the operation also when the clocks of their holders are four minutes apart", storyBound, func(ctx SpecContext) {
		slow, fast := cluster.Pair{Pod: a.Pod, Ahead: -2 * time.Minute}, cluster.Pair{Pod: b.Pod, Ahead: 2 * time.Minute}
		pairs(ctx, slow, fast)
		t := stillTeam(ctx, "lead-clock")
		commit, thaw := settling(ctx, t, "debug")
		f, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Status.Operation.RequestedAt.Time).To(BeTemporally("~", time.Now().Add(slow.Ahead), 30*time.Second))
		Expect(world.StopPair(a.Pod, false)).To(Succeed())
		thaw()
		takenOver(ctx, t, v1alpha1.OperationFailed, f.Status.Operation.SuspendToken)
		ask(ctx, t, "r2", commit)
		op := ends(ctx, t, "r2", v1alpha1.OperationSucceeded)
		Expect(op.RequestedAt.Time).To(BeTemporally("~", time.Now().Add(fast.Ahead), 30*time.Second))
		Expect(level(ctx, t)).To(Equal("debug"))
	})
})

var _ = Describe("Two holders that both act", Label("flux"), func() {
	It("run each request once: every write of one makes the other read again", storyBound, func(ctx SpecContext) {
		a := cluster.Pair{Pod: "kc-a"}
		// Beside another controller, which never leads, it takes itself for the holder of the first.
		b := cluster.Pair{Pod: "kc-b", Holder: []string{"--identity=" + a.Pod}}
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-twice")
		generation := kustomization(ctx, t).Generation
		var ids []string
		for i := range 5 {
			id := fmt.Sprintf("r%d", i)
			commit := pushed(ctx, t, "level-"+id)
			ask(ctx, t, id, commit)
			Expect(ends(ctx, t, id, v1alpha1.OperationSucceeded).AppliedRevision).To(Equal("main@sha1:" + commit))
			ids = append(ids, id)
		}
		once(ctx, t, ids...)
		Expect(kustomization(ctx, t).Generation).To(Equal(generation+2*int64(len(ids))), "one resume and one suspend each")
	})

	It("do nothing twice when one was away while the other took its place", storyBound, func(ctx SpecContext) {
		a, b := cluster.Pair{Pod: "kc-a"}, cluster.Pair{Pod: "kc-b"}
		pairs(ctx, a, b)
		t := stillTeam(ctx, "lead-away")
		commit := pushed(ctx, t, "debug")
		thaw := freeze(cluster.In(a.Pod, cluster.Holder)) // it knows that its controller leads
		ask(ctx, t, "r1", commit)
		Expect(world.Kill(cluster.In(a.Pod, cluster.KustomizeController))).To(Succeed())
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		generation := kustomization(ctx, t).Generation
		thaw()
		nothingStarts(ctx, t, "r2")
		Expect(kustomization(ctx, t).Generation).To(Equal(generation))
		once(ctx, t, "r1")
	})
})
