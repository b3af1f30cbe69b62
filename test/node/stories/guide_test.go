package stories

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// blocks are the shell blocks of a page of docs, in order.
func blocks(page string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(world.Checkout(), "docs", page))
	Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// shell runs a block in the checkout as an administrator who has kubectl, helm and the files that the guide asks for, and
// returns what it printed.
func shell(ctx context.Context, script string) string {
	GinkgoHelper()
	script = strings.ReplaceAll(script, "https://git.example.org/team-a/fleet.git", world.Git.URL("team-a"))
	if command := "bin/holdfast "; strings.Contains(script, command) {
		path, err := world.BuildCommand(ctx)
		Expect(err).NotTo(HaveOccurred())
		script = strings.ReplaceAll(script, command, path+" ")
	}
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	cmd.Dir = world.Checkout()
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("%s\n%s\n", script, out)
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// environment is that of the shell, with kubectl, helm and the files that the guide asks for.
func environment() []string {
	GinkgoHelper()
	return []string{
		"PATH=" + n.Bin() + ":" + os.Getenv("PATH"), "HOME=" + n.Dir, "KUBECONFIG=" + world.Kubeconfig(cluster.Admin), "AUDIT=" + auditDir(),
		"GIT_USER=" + cluster.GitHoldfast, "GIT_PASSWORD=" + world.Git.Password(cluster.GitHoldfast),
	}
}

// auditDir has the certificates of the audit webhook.
func auditDir() string {
	GinkgoHelper()
	dir := filepath.Join(n.Dir, "audit")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	Expect(os.Mkdir(dir, 0o700)).To(Succeed())
	files, err := world.AuditFiles()
	Expect(err).NotTo(HaveOccurred())
	for name, content := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), content, 0o600)).To(Succeed())
	}
	return dir
}

// guideTeam is the team of the guides. Its objects of Holdfast are made by the guide.
var guideTeam *scene.Team

// withAudit are the blocks of the guide for an install for who may configure the API server; withoutAudit are those for who
// may not. They differ in how the chart is installed.
func withAudit() []string { return guideBlocks(true) }

func withoutAudit() []string { return guideBlocks(false) }

func guideBlocks(audit bool) []string {
	GinkgoHelper()
	all := blocks("install-flux.md")
	without := func(script string) bool { return strings.Contains(script, "  audit:\n    enabled: false\n") }
	with := func(script string) bool { return strings.Contains(script, "helm install") && !without(script) }
	for _, way := range []func(string) bool{with, without} {
		Expect(slices.DeleteFunc(slices.Clone(all), func(script string) bool { return !way(script) })).To(HaveLen(1), "the guide prints each way once")
	}
	if audit {
		return slices.DeleteFunc(all, without)
	}
	return slices.DeleteFunc(all, with)
}

// installed runs the guide, once for all stories.
func installed(ctx context.Context) {
	GinkgoHelper()
	if guideTeam != nil {
		return
	}
	const folder = "clusters/production/team-a"
	t, err := scene.New(ctx, world, scene.Options{Name: "team-a", Path: folder, NoHold: true,
		Files: map[string]string{folder + "/settings.yaml": scene.Settings("team-a", "info")}})
	Expect(err).NotTo(HaveOccurred())
	guideTeam = t
	run := withAudit()
	Expect(len(run)).To(BeNumerically(">", 9))
	for _, script := range run {
		out := shell(ctx, script)
		if strings.Contains(script, "/status") {
			Expect(out).To(ContainSubstring("status.holdfast.dev/v1"))
		}
	}
}

func guideStories() {
	It("goes from a running Flux to a held Kustomization, with its commands as they are printed", storyBound, func(ctx SpecContext) {
		installed(ctx)
		k, err := guideTeam.Kustomization(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Spec.Suspend).To(BeTrue())

		By("and an edit goes round: into Git by its author, and from there applied")
		c, err := guideTeam.AwaitCommit(ctx, "", "admin@users.holdfast.invalid")
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"clusters/production/team-a/settings.yaml"}))
		Expect(guideTeam.Await(ctx, "the edit's commit is applied", func(ctx context.Context) (bool, string, error) {
			k, err := guideTeam.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+c.Hash && k.Spec.Suspend, k.Status.LastAppliedRevision, err
		})).To(Succeed())
	})
}
