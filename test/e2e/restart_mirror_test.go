package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// stopGitmirror ends gitmirror for the length of a story at most, gracefully or not.
func stopGitmirror(graceful bool) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		if !world.Running(cluster.Gitmirror) {
			Expect(world.StartGitmirror(ctx)).To(Succeed())
		}
	})
	Expect(world.StopGitmirror(graceful)).To(Succeed())
}

// startGitmirror starts gitmirror again and waits until it has seen what the team has. What is edited before that is not
// seen as an edit. From then on edits of the team are not collected.
func startGitmirror(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "gittarget", "web", "--type=merge", "-p", `{"spec":{"commit":{"idleTimeout":"0s"}}}`)
	Expect(world.StartGitmirror(ctx)).To(Succeed())
	Expect(t.Await(ctx, "the Deployment and the ConfigMap that Flux placed are seen", func(ctx context.Context) (bool, string, error) {
		n, err := gitmirrorMetric(ctx, `holdfast_gitmirror_changes_total{outcome="PlacedByApplier"}`)
		return n >= 2, fmt.Sprint(n), err // it serves metrics a moment after it takes audit events
	})).To(Succeed())
}

// request is the id of the team's newest request.
func request(ctx context.Context, t *scene.Team) string {
	GinkgoHelper()
	f, err := t.Trigger(ctx)
	Expect(err).NotTo(HaveOccurred())
	return f.Status.Request.ID
}

// gitmirrorMetric is the value of one of gitmirror's metrics, 0 when there is none yet.
func gitmirrorMetric(ctx context.Context, series string) (float64, error) {
	page, err := get(ctx, world.GitmirrorMetricsURL())
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, err
}

var _ = Describe("gitmirror that is stopped", Label("mirror"), func() {
	It("pushes what it collects before it ends, each edit by its author", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-sigterm", Idle: 30 * time.Second})
		before := head(ctx, t)
		kubectl(ctx, cluster.Bob, "-n", t.Name, "set", "env", "deployment/web", "GREETING=first")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=3")
		stopGitmirror(true) // the name of the last edit's author may not have arrived yet
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		Expect(log).To(HaveLen(3))
		Expect([]string{log[0].AuthorEmail, log[1].AuthorEmail, log[2].Hash}).To(Equal([]string{cluster.Alice, cluster.Bob, before}))

		startGitmirror(ctx, t)
		follows(ctx, t, log[0].Hash)
	})

	It("and killed loses the edits it collected and makes none of its own", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-sigkill", Idle: 30 * time.Second})
		before, asked := head(ctx, t), request(ctx, t)
		edits := `holdfast_gitmirror_changes_total{outcome="Edit"}`
		count, err := gitmirrorMetric(ctx, edits)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=3")
		Expect(t.Await(ctx, "the edit is collected", func(ctx context.Context) (bool, string, error) {
			now, err := gitmirrorMetric(ctx, edits)
			return now > count, fmt.Sprint(now), err
		})).To(Succeed())
		Expect(head(ctx, t)).To(Equal(before))
		stopGitmirror(false)
		startGitmirror(ctx, t)
		Expect(request(ctx, t)).To(Equal(asked), "the tip is applied")
		follows(ctx, t, before)
	})

	It("leaves every object to be edited as before", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-again"})
		before := head(ctx, t)
		stopGitmirror(true)
		startGitmirror(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=3")
		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitApplied(ctx, c.Hash)
		Expect(err).NotTo(HaveOccurred())
	})
})

var _ = Describe("A cluster without audit", Label("mirror"), func() {
	It("is mirrored at once, and its commits say that nobody is proven to have made them B39", SpecTimeout(5*time.Minute), func(ctx SpecContext) {
		w, err := cluster.Start(context.WithoutCancel(ctx), cluster.Options{Out: GinkgoWriter, Args: map[string][]string{
			cluster.APIServer: {"--audit-webhook-config-file=", "--audit-policy-file="},
		}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(w.Stop()).To(Succeed()) })
		Expect(w.StartGitmirror(ctx)).To(Succeed())
		t, err := scene.New(ctx, w, scene.Options{Name: "team-nameless", NoApply: true})
		Expect(err).NotTo(HaveOccurred())
		seen(ctx, t)
		before, err := w.Git.Head(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		_, err = w.Kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		Expect(err).NotTo(HaveOccurred())
		c, err := t.AwaitCommit(ctx, before, author.Unresolved.Email)
		Expect(err).NotTo(HaveOccurred())
		Expect(time.Since(began)).To(BeNumerically("<", 3*time.Second), "nothing waits for a name that never comes")
		Expect(strings.ToLower(c.AuthorName)).To(ContainSubstring("unresolved"))
		p := &v1alpha1.KubeProvider{}
		p.Name = v1alpha1.DefaultKubeProvider
		_, err = t.AwaitReason(ctx, p, v1alpha1.ConditionAuditFactsReceived, v1alpha1.ReasonNoAuditEvents)
		Expect(err).NotTo(HaveOccurred())
	})
})
