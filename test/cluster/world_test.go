package cluster_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
)

// TestWorldStartsAndStops takes one commit through the real Flux as a person would, restarts and kills components, and
// looks for what is left afterwards.
func TestWorldStartsAndStops(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	g := NewWithT(t)

	w, err := cluster.Start(ctx, cluster.Options{Out: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	stopped := false
	defer func() {
		if !stopped {
			_ = w.Stop()
		}
	}()
	for _, p := range w.Timings() {
		t.Logf("%-24s %5.1fs", p.Name, p.Took.Seconds())
	}

	t.Log("Flux applies a commit from the Git server, with a password")
	g.Expect(w.Git.AddRepo(ctx, "app", map[string]string{"team-a/cm.yaml": configMap("one")})).To(Succeed())
	admin, err := w.Client(cluster.Admin)
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range fluxObjects(w) {
		g.Expect(admin.Create(ctx, o)).To(Succeed())
	}
	g.Eventually(applied(ctx, admin)).WithTimeout(time.Minute).Should(Equal("one"), "two controllers have to see their objects and fetch")

	t.Log("people may do what they may do, and no more")
	out, err := w.Kubectl(ctx, cluster.Alice, "-n", "team-a", "get", "configmap", "app", "-o", "jsonpath={.data.word}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("one"))
	_, err = w.Kubectl(ctx, cluster.Alice, "-n", "flux-system", "get", "secrets")
	g.Expect(err).To(MatchError(ContainSubstring("forbidden")))
	_, err = w.Kubectl(ctx, cluster.Alice, "-n", "flux-system", "patch", "kustomization", "app", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	g.Expect(err).NotTo(HaveOccurred())
	out, err = w.Kubectl(ctx, cluster.Deployer, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal(cluster.Deployer))

	t.Log("a killed controller comes back and goes on")
	g.Expect(w.Kill(cluster.KustomizeController)).To(Succeed())
	g.Expect(w.Running(cluster.KustomizeController)).To(BeFalse())
	g.Expect(w.Revive(ctx, cluster.KustomizeController)).To(Succeed())
	g.Expect(w.Restart(ctx, cluster.SourceController)).To(Succeed())
	_, err = w.Git.Commit(ctx, "app", "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Say two", map[string]string{"team-a/cm.yaml": configMap("two")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(applied(ctx, admin)).WithTimeout(time.Minute).Should(Equal("two"), "the source is polled every second")
	g.Expect(strings.TrimSpace(w.LogTail(cluster.KustomizeController))).NotTo(BeEmpty())

	t.Log("nothing is left")
	pids := w.PIDs()
	g.Expect(pids).To(HaveLen(5))
	begin := time.Now()
	g.Expect(w.Stop()).To(Succeed())
	stopped = true
	t.Logf("stopped in %.1fs", time.Since(begin).Seconds())
	for name, pid := range pids {
		g.Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH), name)
	}
	g.Expect(w.Dir).NotTo(BeADirectory())
}

// fluxObjects are a source with its password and a Kustomization of it.
func fluxObjects(w *cluster.World) []client.Object {
	at := metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: "app"}
	return []client.Object{
		&corev1.Secret{ObjectMeta: at, StringData: map[string]string{"username": cluster.GitFlux, "password": w.Git.Password(cluster.GitFlux)}},
		&sourcev1.GitRepository{ObjectMeta: at, Spec: sourcev1.GitRepositorySpec{
			URL: w.Git.URL("app"), Interval: metav1.Duration{Duration: time.Second}, SecretRef: &meta.LocalObjectReference{Name: "app"},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		}},
		&kustomizev1.Kustomization{ObjectMeta: at, Spec: kustomizev1.KustomizationSpec{
			Interval: metav1.Duration{Duration: time.Hour}, Path: "./team-a", Prune: true,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"},
		}},
	}
}

func configMap(word string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: team-a\ndata:\n  word: " + word + "\n"
}

// applied reads what Flux has put into the cluster.
func applied(ctx context.Context, c client.Client) func() (string, error) {
	return func() (string, error) {
		cm := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "app"}, cm)
		return cm.Data["word"], client.IgnoreNotFound(err)
	}
}
