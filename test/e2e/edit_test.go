package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var _ = Describe("An edit through the API", Label("mirror"), func() {
	It("becomes a commit by its author that changes the one line", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-scale"})
		before := head(ctx, t)

		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=3")

		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.AuthorName).To(Equal(cluster.Alice))
		Expect(c.CommitterEmail).To(Equal("holdfast@holdfast.invalid"))
		Expect(c.Files).To(Equal([]string{"apps/web.yaml"}))
		content, err := world.Git.ReadFile(ctx, t.Name, c.Hash, "apps/web.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(content).To(Equal(strings.Replace(scene.Web(t.Name)["apps/web.yaml"], "replicas: 1 #", "replicas: 3 #", 1)))

		By("and is applied by an operation, with the Kustomization suspended again")
		_, err = t.AwaitApplied(ctx, c.Hash)
		Expect(err).NotTo(HaveOccurred())
	})

	It("of two people becomes two commits, in their order", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-two", Idle: 2 * time.Second})
		before := head(ctx, t)

		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		kubectl(ctx, cluster.Bob, "-n", t.Name, "set", "env", "deployment/web", "GREETING=hi")

		_, err := t.AwaitCommit(ctx, before, cluster.Bob)
		Expect(err).NotTo(HaveOccurred())
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		Expect([]string{log[0].AuthorEmail, log[1].AuthorEmail, log[2].Hash}).To(Equal([]string{cluster.Bob, cluster.Alice, before}))
	})

	It("by a service account is the service account's", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-deployer"})
		before := head(ctx, t)

		kubectl(ctx, cluster.Deployer, "-n", t.Name, "set", "image", "deployment/web", "web=registry.example/web:1.1")

		c, err := t.AwaitCommit(ctx, before, "system=3Aserviceaccount=3Ateam-a=3Adeployer@users.holdfast.invalid")
		Expect(err).NotTo(HaveOccurred())
		Expect(c.AuthorName).To(Equal(cluster.Deployer))
	})

	It("that makes an object makes a document, and Flux takes it over from Git", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-create"})
		before := head(ctx, t)

		kubectl(ctx, cluster.Alice, "-n", t.Name, "create", "configmap", "motd", "--from-literal=text=yes")

		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"apps/" + t.Name + "/core/configmaps/motd.yaml"}))
		_, err = t.AwaitApplied(ctx, c.Hash)
		Expect(err).NotTo(HaveOccurred())
		Expect(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "motd", "-o", "jsonpath={.data.text} {.metadata.labels}")).
			To(And(HavePrefix("yes "), ContainSubstring("kustomize.toolkit.fluxcd.io/name")))
	})

	It("leaves what was pushed and not applied yet as it was pushed", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-unapplied", Quiet: time.Hour})

		By("a push that nothing applies for an hour")
		pushed, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Two things", map[string]string{
			"apps/web.yaml": strings.NewReplacer("web:1.0", "web:2.0", `"hello"`, `"pushed"`).Replace(scene.Web(t.Name)["apps/web.yaml"]),
		})
		Expect(err).NotTo(HaveOccurred())
		By("and an edit of another field of the same document")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=4")

		c, err := t.AwaitCommit(ctx, pushed, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		content, err := world.Git.ReadFile(ctx, t.Name, c.Hash, "apps/web.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(content).To(And(ContainSubstring("replicas: 4 # enough"), ContainSubstring("web:2.0"), ContainSubstring(`"pushed"`)))
	})

	It("that deletes an object is told, with who did it, and the document stays", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-delete"})
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "delete", "configmap", "settings")
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("ConfigMap"), ContainSubstring(cluster.Alice), ContainSubstring("apps/settings.yaml")))
		Expect(head(ctx, t)).To(Equal(before))
	})

	It("that makes an object anew, unlike its document, is told and written by nobody's guess", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-anew", Quiet: time.Hour})
		files := map[string]string{"apps/motd.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: motd, namespace: team-anew}\ndata: {text: pushed}\n"}
		pushed, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Say something", files)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Alice, "-n", t.Name, "create", "configmap", "motd", "--from-literal=text=live")
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("apps/motd.yaml"), ContainSubstring("says something else")))
		Expect(head(ctx, t)).To(Equal(pushed))
	})

	It("that undoes itself within the commit window makes no commit", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-undo", Idle: 2 * time.Second})
		before := head(ctx, t)

		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=9")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=1")
		By("a later edit by another person, whose commit then follows directly")
		kubectl(ctx, cluster.Bob, "-n", t.Name, "set", "env", "deployment/web", "GREETING=hi")

		_, err := t.AwaitCommit(ctx, before, cluster.Bob)
		Expect(err).NotTo(HaveOccurred())
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		Expect(log[1].Hash).To(Equal(before))
	})
})

var _ = Describe("A Git outage", Label("mirror"), func() {
	It("loses nothing: the edits arrive later, by their authors and in their order", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-outage"})
		before := head(ctx, t)
		Expect(world.Git.Down()).To(Succeed())
		DeferCleanup(world.Git.Up)

		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=5")
		kubectl(ctx, cluster.Bob, "-n", t.Name, "set", "env", "deployment/web", "GREETING=outage")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=6")
		By("the target says what is the matter")
		_, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())

		Expect(world.Git.Up()).To(Succeed())
		Expect(t.Await(ctx, "three commits in order", func(ctx context.Context) (bool, string, error) {
			log, err := world.Git.Log(ctx, t.Name, "main")
			if err != nil || len(log) < 4 {
				return false, "fewer than three new commits", err
			}
			authors := []string{log[2].AuthorEmail, log[1].AuthorEmail, log[0].AuthorEmail}
			return log[3].Hash == before && authors[0] == cluster.Alice && authors[1] == cluster.Bob && authors[2] == cluster.Alice,
				strings.Join(authors, " "), nil
		})).To(Succeed())
	})

	It("of one push is retried on the new tip, and nothing is doubled", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-rejected"})
		before := head(ctx, t)
		Expect(world.Git.SetHook(t.Name, gitserver.RefusePushes("maintenance until noon"))).To(Succeed())

		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=7")
		message, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("maintenance until noon")) // B44
		By("somebody else pushes meanwhile, and the server takes pushes again")
		_, err = world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Log more",
			map[string]string{"apps/settings.yaml": scene.Settings(t.Name, "debug")})
		Expect(err).NotTo(HaveOccurred())
		Expect(world.Git.SetHook(t.Name, "")).To(Succeed())

		_, err = t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		Expect([]string{log[0].AuthorEmail, log[1].AuthorEmail, log[2].Hash}).To(Equal([]string{cluster.Alice, cluster.Bob, before}))
	})
})
