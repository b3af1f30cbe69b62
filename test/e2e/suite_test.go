// Package e2e tells stories on a real API server with real Flux and a real Git server. One world serves all of them; each
// story has a team of its own. A world that cannot be started fails the suite: nothing here is ever skipped.
package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// storyBound is for one story, on a busy machine.
const storyBound = SpecTimeout(3 * time.Minute)

// healBound is for what is looked at again once a minute.
const healBound = 90 * time.Second

var world *cluster.World

func TestStories(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Stories on a real cluster")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	// The world outlives the context of this node.
	world, err = cluster.Start(context.WithoutCancel(ctx), cluster.Options{Out: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	_, err = command()
	Expect(err).NotTo(HaveOccurred())
	Expect(world.StartGitmirror(ctx)).To(Succeed())
	Expect(world.StartHolder(ctx)).To(Succeed())
}, NodeTimeout(40*time.Minute)) // a cold build of the control plane is most of it

var _ = AfterSuite(func(ctx SpecContext) {
	if world == nil {
		return
	}
	defer func() { Expect(world.Stop()).To(Succeed()) }()
	Expect(leaks(ctx)).To(BeEmpty(), "whatever the stories did")
}, NodeTimeout(2*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && world != nil {
		AddReportEntry("holder", world.LogTail(cluster.Holder))
		AddReportEntry("gitmirror", world.LogTail(cluster.Gitmirror))
		AddReportEntry("gitmirror's counts", gitmirrorCounts())
	}
})

// team furnishes a team, with quick timers unless o says otherwise. When the story is over its branch is left alone, so
// that the world does the work of one team at a time.
func team(ctx context.Context, o scene.Options) *scene.Team {
	GinkgoHelper()
	if o.Quiet == 0 {
		o.Quiet = 500 * time.Millisecond
	}
	t, err := scene.New(ctx, world, o)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		target := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(client.IgnoreNotFound(t.Client.Delete(ctx, target))).To(Succeed())
	}, NodeTimeout(30*time.Second))
	return t
}

// settledTeam is a team whose tip is applied and whose Kustomization is held. A long quiet period begins only then.
func settledTeam(ctx context.Context, o scene.Options) *scene.Team {
	GinkgoHelper()
	quiet := o.Quiet
	o.Quiet = 0
	t := team(ctx, o)
	_, err := t.AwaitApplied(ctx, head(ctx, t))
	Expect(err).NotTo(HaveOccurred())
	if quiet != 0 {
		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "fluxtrigger", "web", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"quietPeriod":%q}}`, quiet))
	}
	return t
}

// head is the hash of the branch's tip.
func head(ctx context.Context, t *scene.Team) string {
	GinkgoHelper()
	hash, err := world.Git.Head(ctx, t.Name, "main")
	Expect(err).NotTo(HaveOccurred())
	return hash
}

// kubectl runs kubectl as user and returns what it printed.
func kubectl(ctx context.Context, user string, args ...string) string {
	GinkgoHelper()
	out, err := world.Kubectl(ctx, user, args...)
	Expect(err).NotTo(HaveOccurred())
	return out
}
