package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// blocks are the shell blocks of a page of docs, in order.
func blocks(page string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	Expect(err).NotTo(HaveOccurred())
	var all []string
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// shell runs a block in the checkout as an administrator who has kubectl and the command line, and returns what it printed.
func shell(ctx context.Context, script string) string {
	GinkgoHelper()
	return shellIn(ctx, filepath.Join("..", ".."), script)
}

// shellIn does so in a folder.
func shellIn(ctx context.Context, dir, script string) string {
	GinkgoHelper()
	path, err := command()
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH"), "HOME=" + world.Dir, "KUBECONFIG=" + world.Kubeconfig(cluster.Admin),
		"GIT_USER=" + cluster.GitHoldfast, "GIT_PASSWORD=" + world.Git.Password(cluster.GitHoldfast),
	}
	out, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("%s\n%s\n", script, out)
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

var _ = Describe("The guide for Flux", Label("flux"), func() {
	It("takes a Kustomization from Flux to held and back, with its commands as they are printed", storyBound, func(ctx SpecContext) {
		const folder = "clusters/production/team-a"
		files := map[string]string{}
		for file, text := range scene.Web("team-a") {
			files[strings.Replace(file, "apps/", folder+"/", 1)] = text
		}
		t, err := scene.New(ctx, world, scene.Options{Name: "team-a", Path: folder, Files: files, NoHold: true})
		Expect(err).NotTo(HaveOccurred())
		before := head(ctx, t)

		run := blocks("flux.md")
		Expect(len(run)).To(BeNumerically(">", 8))
		for _, script := range run {
			shell(ctx, strings.ReplaceAll(script, "https://git.example.org/team-a/fleet.git", world.Git.URL(t.Name)))
			if strings.Contains(script, "scale deployment/web") {
				Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue(), "it is held by now")
				c, err := t.AwaitCommit(ctx, before, "admin@users.holdfast.invalid")
				Expect(err).NotTo(HaveOccurred())
				Expect(c.Files).To(Equal([]string{folder + "/web.yaml"}))
			}
		}
		k := kustomization(ctx, t)
		Expect(k.Spec.Suspend).To(BeFalse())
		untouched(ctx, t)
		Expect(k.Status.LastAppliedRevision).To(Equal("main@sha1:" + head(ctx, t)))
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "gittarget", "fleet")
	})
})
