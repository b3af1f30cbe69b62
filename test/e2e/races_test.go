package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const (
	raceObjects = 100 // a run over so many lasts long enough for a fetch
	raceRounds  = 20
	raceBound   = SpecTimeout(8 * time.Minute) // on a busy machine; a round takes about two seconds alone
)

// revisions are the two commits of a round: the one that is asked for, which the source holds, and the one pushed after it,
// which the source does not hold yet.
func revisions(ctx context.Context, t *scene.Team, round int) (approved, other string) {
	GinkgoHelper()
	commit := func(rev string) string {
		hash, err := world.Git.Commit(ctx, t.Name, "main", bob, rev, scene.ConfigMaps(t.Name, raceObjects, rev))
		Expect(err).NotTo(HaveOccurred())
		return hash
	}
	approved = commit(fmt.Sprintf("approved %d", round))
	fetched(ctx, t, approved)
	return approved, commit(fmt.Sprintf("unapproved %d", round))
}

// begun waits until kustomize-controller works on the commit.
func begun(ctx context.Context, t *scene.Team, commit string) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the run began", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		return k.Status.LastAttemptedRevision == "main@sha1:"+commit, k.Status.LastAttemptedRevision, err
	})).To(Succeed())
}

// unapproved counts the objects in the cluster that have the second revision of any round.
func unapproved(ctx context.Context, t *scene.Team) int {
	GinkgoHelper()
	revs := kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "-o", `jsonpath={range .items[*]}{.data.rev}{"\n"}{end}`)
	return strings.Count(revs, "unapproved")
}

func raceTeam(ctx context.Context, o scene.Options) *scene.Team {
	GinkgoHelper()
	o.Files = scene.ConfigMaps(o.Name, raceObjects, "0")
	if o.NoHold {
		return team(ctx, o)
	}
	o.Quiet = time.Hour
	return settledTeam(ctx, o)
}

// naive is the order a holder must not take: resume, wait until the token is handled, suspend. It returns the revision that
// was applied last once the suspend is handled.
func naive(ctx context.Context, t *scene.Team, round int, approved string, meanwhile func()) string {
	GinkgoHelper()
	write := func(suspend bool, token string) {
		by(ctx, t, "kustomization", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"suspend":%v}}`, meta.ReconcileRequestAnnotation, token, suspend))
	}
	handled := func(token string) {
		Expect(t.Await(ctx, token+" is handled", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastHandledReconcileAt == token, k.Status.LastHandledReconcileAt, err
		})).To(Succeed())
	}
	one, two := fmt.Sprintf("naive-%d-resume", round), fmt.Sprintf("naive-%d-suspend", round)
	write(false, one)
	begun(ctx, t, approved)
	meanwhile()
	handled(one)
	write(true, two)
	handled(two)
	return kustomization(ctx, t).Status.LastAppliedRevision
}

var _ = Describe("A push that races an operation", Label("flux", "attack"), func() {
	It("is never applied when it is fetched in the middle of the run, as it is by who waits for the token before suspending", raceBound, func(ctx SpecContext) {
		t := raceTeam(ctx, scene.Options{Name: "race-run"})
		during, bad := 0, 0
		for round := range raceRounds {
			id := fmt.Sprintf("r%d", round)
			approved, other := revisions(ctx, t, round)
			ask(ctx, t, id, approved)
			begun(ctx, t, approved)
			fetched(ctx, t, other)
			if !trigger(ctx, t).Status.Operation.Phase.Final() {
				during++
			}
			op := ends(ctx, t, id, v1alpha1.OperationSucceeded)
			Expect(op.AppliedRevision).To(Equal("main@sha1:" + approved))
			if unapproved(ctx, t) > 0 {
				bad++
			}
		}
		AddReportEntry("held", fmt.Sprintf("fetched in the middle of the run: %d of %d; unapproved revisions applied: %d", during, raceRounds, bad))
		Expect(bad).To(BeZero())
		Expect(during).NotTo(BeZero(), "the rounds raced nothing")

		By("the naive order, on the same controller")
		n := raceTeam(ctx, scene.Options{Name: "race-naive", NoHold: true})
		by(ctx, n, "kustomization", suspend)
		rounds, let := 0, 0
		for ; rounds < raceRounds && let == 0; rounds++ {
			approved, other := revisions(ctx, n, rounds)
			if naive(ctx, n, rounds, approved, func() { fetched(ctx, n, other) }) == "main@sha1:"+other {
				let++
			}
		}
		AddReportEntry("naive", fmt.Sprintf("unapproved revisions applied: %d of %d", let, rounds))
		Expect(let).NotTo(BeZero())
		Expect(unapproved(ctx, n)).To(Equal(raceObjects))
	})

	It("is reported each time when it is fetched between the resume and the start", raceBound, func(ctx SpecContext) {
		t := raceTeam(ctx, scene.Options{Name: "race-gap"})
		let := 0
		for round := range raceRounds {
			id := fmt.Sprintf("r%d", round)
			approved, other := revisions(ctx, t, round)
			thaw := freeze(cluster.KustomizeController)
			ask(ctx, t, id, approved)
			reaches(ctx, t, id, v1alpha1.OperationRunning)
			fetched(ctx, t, other)
			thaw()
			op := ends(ctx, t, id, v1alpha1.OperationSucceeded)
			ran := kustomization(ctx, t).Status.LastAppliedRevision
			Expect(op.AppliedRevision).To(Equal(ran), "what ran is what is reported")
			switch ran {
			case "main@sha1:" + approved:
				Expect(op.Message).NotTo(ContainSubstring("went on"))
				Expect(unapproved(ctx, t)).To(BeZero())
			case "main@sha1:" + other:
				let++
				Expect(op.Message).To(And(ContainSubstring("the branch went on"), ContainSubstring(other)))
				Expect(answered(ctx, t, id, v1alpha1.OutcomeSucceeded).Message).To(Equal(op.Message))
				Expect(unapproved(ctx, t)).To(Equal(raceObjects))
			default:
				Fail("applied " + ran)
			}
			Expect(apimeta.IsStatusConditionTrue(kustomization(ctx, t).Status.Conditions, meta.ReadyCondition)).To(BeTrue())
		}
		AddReportEntry("gap", fmt.Sprintf("the later revision ran in %d of %d rounds, and each was reported", let, raceRounds))
		Expect(let).NotTo(BeZero(), "the rounds raced nothing")
	})
})
