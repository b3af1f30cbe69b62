package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// front is another address of the world's Git server, which does to a request what behave says.
func front(behave func(w http.ResponseWriter, r *http.Request, git http.Handler)) (url func(repo string) string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { behave(w, r, world.Git) }))
	DeferCleanup(s.Close)
	return func(repo string) string { return s.URL + "/" + repo + ".git" }
}

// through is a team that mirrors to a repository at another address.
func through(ctx context.Context, name, url string) *scene.Team {
	GinkgoHelper()
	t := team(ctx, scene.Options{Name: name, NoHold: true, NoApply: true})
	create(ctx, t, func(objs []client.Object) { part[*v1alpha1.GitProvider](objs).Spec.URL = url })
	seen(ctx, t)
	return t
}

// git runs git on the server's side of the team's repository.
func git(ctx context.Context, t *scene.Team, args ...string) {
	GinkgoHelper()
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", filepath.Join(world.Git.Dir(), t.Name+".git")}, args...)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// arrives waits for a commit of alice's last on the branch.
func arrives(ctx context.Context, t *scene.Team, before string) {
	GinkgoHelper()
	_, err := t.AwaitCommit(ctx, before, cluster.Alice)
	Expect(err).NotTo(HaveOccurred())
}

var _ = Describe("A Git server", Label("mirror"), func() {
	It("that answers with errors loses nothing", storyBound, func(ctx SpecContext) {
		var ill atomic.Bool
		ill.Store(true)
		t := through(ctx, "team-500", front(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			if ill.Load() {
				http.Error(w, "the database is away\nAuthorization: "+r.Header.Get("Authorization"), http.StatusInternalServerError)
				return
			}
			git.ServeHTTP(w, r)
		})("team-500"))
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		_, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())
		ill.Store(false)
		arrives(ctx, t, before)
	})

	It("that never answers keeps no other waiting", storyBound, func(ctx SpecContext) {
		release := make(chan struct{})
		t := through(ctx, "team-silent", front(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			select {
			case <-release:
				git.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})("team-silent"))
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		other := mirrored(ctx, scene.Options{Name: "team-prompt"})
		follows(ctx, other, head(ctx, other))
		close(release)
		arrives(ctx, t, before)
	})

	It("whose address was wrong gets what was edited meanwhile once it is right", storyBound, func(ctx SpecContext) {
		t := through(ctx, "team-address", world.Git.URL("nowhere"))
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		_, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "gitprovider", "repo", "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"url":%q,"commit":{"committer":{"name":"Mirror","email":"mirror@example.org"}}}}`, world.Git.URL(t.Name)))
		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.CommitterEmail).To(Equal("mirror@example.org"))
	})

	It("that is away while a target is made anew gets what was edited before", storyBound, func(ctx SpecContext) {
		var away atomic.Bool
		t := through(ctx, "team-anew-target", front(func(w http.ResponseWriter, r *http.Request, git http.Handler) {
			if away.Load() {
				http.Error(w, "away", http.StatusServiceUnavailable)
				return
			}
			git.ServeHTTP(w, r)
		})("team-anew-target"))
		before := head(ctx, t)
		away.Store(true)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		_, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())
		g, err := t.Target(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Client.Delete(ctx, g)).To(Succeed())
		Expect(t.Client.Create(ctx, &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}, Spec: g.Spec})).To(Succeed())
		away.Store(false)
		arrives(ctx, t, before)
	})

	It("on which the branch is gone gets nothing until it is back, and then all B45", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-branchless"})
		before := head(ctx, t)
		git(ctx, t, "branch", "-m", "main", "elsewhere")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		message, err := t.AwaitTargetPushFailed(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("branch"))
		git(ctx, t, "branch", "-m", "elsewhere", "main")
		arrives(ctx, t, before)
	})

	It("on which the branch is set back gets the next edit on what is there B45", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-rewritten"})
		first := head(ctx, t)
		push(ctx, t, "to be taken back", map[string]string{"apps/settings.yaml": scene.Settings(t.Name, "debug")})
		follows(ctx, t, head(ctx, t))
		git(ctx, t, "update-ref", "refs/heads/main", first)
		follows(ctx, t, first)
		git(ctx, t, "fsck", "--strict")
	})
})

var _ = Describe("A repository", Label("mirror"), func() {
	It("with thousands of files, other line endings and files nobody can read is edited in its one line B48", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-messy"})
		files := map[string]string{
			"apps/settings.yaml":    strings.ReplaceAll("# "+scene.Settings(t.Name, "info"), "\n", "\r\n"),
			"apps/broken.yaml":      "a: [\n",
			"apps/helm.yaml":        "{{ if .x }}\nkind: X\n",
			"apps/dump.json":        `["` + strings.Repeat("x", 2<<20) + `"]`,
			"apps/latin.yaml":       "a: \xff\n",
			"apps/with spaces/ü.md": "x",
		}
		files["apps/settings.yaml"] = strings.ReplaceAll("# ours\n"+scene.Settings(t.Name, "info"), "\n", "\r\n")
		for i := range 3000 {
			files[fmt.Sprintf("apps/sub-%d/cm-%d.yaml", i%50, i)] = fmt.Sprintf("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: cm-%d\n", i)
		}
		pushed := push(ctx, t, "A mess", files)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"level":"debug"}}`)
		c, err := t.AwaitCommit(ctx, pushed, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		content, err := world.Git.ReadFile(ctx, t.Name, c.Hash, "apps/settings.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(content).To(Equal(strings.Replace(files["apps/settings.yaml"], "info", "debug", 1)))

		By("what may be in a file that cannot be read is refused by that file's name")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "create", "configmap", "new")
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("apps/broken.yaml"))
	})

	It("is left alone when a WatchRule goes and comes back beside an unapplied push", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-rule", Quiet: time.Hour})
		pushed := push(ctx, t, "Not applied yet", map[string]string{"apps/settings.yaml": scene.Settings(t.Name, "pushed")})
		rule := part[*v1alpha1.WatchRule](t.Holdfast())
		Expect(t.Client.Delete(ctx, rule)).To(Succeed())
		g, err := t.Target(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitReason(ctx, g, v1alpha1.ConditionStreamsRunning, v1alpha1.ReasonNoWatchRule)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Client.Create(ctx, part[*v1alpha1.WatchRule](t.Holdfast()))).To(Succeed())
		seen(ctx, t)
		follows(ctx, t, pushed)
		Expect(inGit(ctx, t, "apps/settings.yaml").Data).To(HaveKeyWithValue("level", "pushed"))
	})
})
