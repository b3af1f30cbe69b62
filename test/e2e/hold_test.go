package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// pushLevel commits another log level as Bob, as a push from elsewhere, and returns its hash.
func pushLevel(ctx context.Context, t *scene.Team, level string) string {
	GinkgoHelper()
	hash, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Log "+level,
		map[string]string{"apps/settings.yaml": scene.Settings(t.Name, level)})
	Expect(err).NotTo(HaveOccurred())
	return hash
}

// level is what the cluster has.
func level(ctx context.Context, t *scene.Team) string {
	GinkgoHelper()
	return kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
}

var _ = Describe("A held Kustomization", Label("flux"), func() {
	It("catches up once when it is taken, and stays suspended", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-adopt"})
		op, err := t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
		Expect(op.Reason).To(Equal(v1alpha1.ApplyCatchUp))
		k, err := t.Kustomization(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Spec.Suspend).To(BeTrue())
		Expect(k.Annotations).To(HaveKey(v1alpha1.HeldByAnnotation))
	})

	It("applies a push after the quiet period, as one operation for exactly that commit", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-push", Quiet: 2 * time.Second})
		pushed := pushLevel(ctx, t, "debug")
		op, err := t.AwaitApplied(ctx, pushed)
		Expect(err).NotTo(HaveOccurred())
		Expect(op.Reason).To(Equal(v1alpha1.ApplyForeignCommit))
		Expect(op.AppliedRevision).To(Equal("main@sha1:" + pushed))
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("applies nothing on its own: neither a fetched push nor a reconcile asked for by hand", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-still", Quiet: time.Hour})
		pushed := pushLevel(ctx, t, "trace")
		stamp := fmt.Sprintf("by-hand-%d", GinkgoRandomSeed())
		for _, kind := range []string{"gitrepository", "kustomization"} {
			kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "annotate", "--overwrite", kind, t.Name, "reconcile.fluxcd.io/requestedAt="+stamp)
			Expect(t.Await(ctx, kind+" handled the request", func(ctx context.Context) (bool, string, error) {
				g, err := t.GitRepository(ctx)
				if err != nil {
					return false, "", err
				}
				k, err := t.Kustomization(ctx)
				handled := g.Status.LastHandledReconcileAt
				if kind == "kustomization" {
					handled = k.Status.LastHandledReconcileAt
				}
				return handled == stamp, handled, err
			})).To(Succeed())
		}
		g, err := t.GitRepository(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(g.Status.Artifact.Revision).To(Equal("main@sha1:" + pushed)) // it could be applied, and is not
		Expect(level(ctx, t)).To(Equal("info"))
	})

	It("that somebody resumes is taken back, with an Event that names who", storyBound, func(ctx SpecContext) { // B13
		t := settledTeam(ctx, scene.Options{Name: "team-resume", Quiet: time.Hour})
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", t.Name, "--type=merge", "-p", `{"spec":{"suspend":false}}`)
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("kubectl-patch"))
		Expect(t.AwaitHeld(ctx)).To(Succeed())
		k, err := t.Kustomization(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Spec.Suspend).To(BeTrue())
		Expect(k.Annotations).To(HaveKeyWithValue(v1alpha1.ResumedByAnnotation, ContainSubstring("kubectl-patch")))
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		Expect(kustomization(ctx, t).Annotations).NotTo(HaveKey(v1alpha1.ResumedByAnnotation))
	})

	It("whose apply fails is suspended again, says so, and is asked again after the fix", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-broken"})
		broken, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Break it",
			map[string]string{"apps/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {level: [not, a, string]}\n"})
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Await(ctx, "the operation failed", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			if err != nil || f.Status.Operation == nil {
				return false, "no operation", err
			}
			op := f.Status.Operation
			return op.Commit == broken && op.Phase == v1alpha1.OperationFailed, scene.Say(f), nil
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())

		fixed := pushLevel(ctx, t, "warn")
		_, err = t.AwaitApplied(ctx, fixed)
		Expect(err).NotTo(HaveOccurred())
		Expect(level(ctx, t)).To(Equal("warn"))
	})

	It("is handed back when its trigger is deleted", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-release"})
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		k, err := t.Kustomization(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(k.Spec.Suspend).To(BeFalse())
		Expect(k.Annotations).NotTo(HaveKey(v1alpha1.HeldByAnnotation))
	})

	It("is suspended by a holder that is told to stop in the middle of an apply, and the next one finishes the operation",
		storyBound, func(ctx SpecContext) {
			t := settledTeam(ctx, scene.Options{Name: "team-stop", Files: scene.ConfigMaps("team-stop", 100, "0")})
			pushed, err := world.Git.Commit(ctx, t.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "All of them",
				scene.ConfigMaps(t.Name, 100, "1"))
			Expect(err).NotTo(HaveOccurred())
			Expect(t.Await(ctx, "the Kustomization is resumed", func(ctx context.Context) (bool, string, error) {
				k, err := t.Kustomization(ctx)
				return !k.Spec.Suspend, "suspended", err
			})).To(Succeed())

			Expect(world.StopHolder(true)).To(Succeed())
			k, err := t.Kustomization(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(k.Spec.Suspend).To(BeTrue())

			Expect(world.StartHolder(ctx)).To(Succeed())
			_, err = t.AwaitApplied(ctx, pushed)
			Expect(err).NotTo(HaveOccurred())
		})
})

var _ = Describe("The protocol between gitmirror and the holder", Label("flux"), func() {
	It("leaves each status field to one field manager", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-owners"})
		f := &v1alpha1.FluxTrigger{}
		Expect(t.Client.Get(ctx, t.In("web"), f)).To(Succeed())
		owners := map[string]string{}
		for _, e := range f.ManagedFields {
			if e.Subresource == "status" {
				owners[e.Manager] = string(e.FieldsV1.GetRawBytes())
			}
		}
		Expect(owners).To(HaveLen(2))
		Expect(owners[v1alpha1.MirrorFieldManager]).To(And(ContainSubstring(`"f:request":`), Not(ContainSubstring(`"f:operation":`))))
		Expect(owners[v1alpha1.HolderFieldManager]).To(And(ContainSubstring(`"f:operation":`), Not(ContainSubstring(`"f:request":`))))
	})
})
