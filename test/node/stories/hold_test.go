package stories

import (
	"context"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// stillTeam is a team whose Kustomization is held at the tip of its branch, and for which gitmirror asks for nothing any
// more: the story does. When the story is over its branch is left alone.
func stillTeam(ctx context.Context, name string) *scene.Team {
	GinkgoHelper()
	installed(ctx)
	t, err := scene.New(ctx, world, scene.Options{Name: name, Quiet: 500 * time.Millisecond, Files: map[string]string{
		"apps/settings.yaml": scene.Settings(name, "info"),
	}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		target := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(client.IgnoreNotFound(t.Client.Delete(ctx, target))).To(Succeed())
	}, NodeTimeout(30*time.Second))
	tip, err := world.Git.Head(ctx, name, gitserver.Branch)
	Expect(err).NotTo(HaveOccurred())
	_, err = t.AwaitApplied(ctx, tip)
	Expect(err).NotTo(HaveOccurred())
	kubectl(ctx, "-n", name, "patch", "fluxtrigger", "web", "--type=merge", "-p", `{"spec":{"quietPeriod":"1h"}}`)
	return t
}

// pushed is a commit of Bob's with the settings at another level, which the source holds and nobody has asked to apply.
func pushed(ctx context.Context, t *scene.Team, level string) string {
	GinkgoHelper()
	return pushedFiles(ctx, t, map[string]string{"apps/settings.yaml": scene.Settings(t.Name, level)})
}

func pushedFiles(ctx context.Context, t *scene.Team, files map[string]string) string {
	GinkgoHelper()
	commit, err := world.Git.Commit(ctx, t.Name, gitserver.Branch, gitserver.Author{Name: "Bob", Email: "bob@example.org"}, "Change it", files)
	Expect(err).NotTo(HaveOccurred())
	kubectl(ctx, "-n", cluster.FluxNamespace, "annotate", "--overwrite", "gitrepository", t.Name, "reconcile.fluxcd.io/requestedAt=fetch-"+commit)
	Expect(t.Await(ctx, "the source holds "+commit, func(ctx context.Context) (bool, string, error) {
		g, err := t.GitRepository(ctx)
		if err != nil || g.Status.Artifact == nil {
			return false, "no artifact", err
		}
		return g.Status.Artifact.HasRevision("main@sha1:" + commit), g.Status.Artifact.Revision, nil
	})).To(Succeed())
	return commit
}

// ask writes a request as gitmirror does.
func ask(ctx context.Context, t *scene.Team, id, commit string) {
	GinkgoHelper()
	Expect(t.Ask(ctx, id, commit)).To(Succeed())
}

// reaches waits until the operation of the request is as done says.
func reaches(ctx context.Context, t *scene.Team, id, what string, done func(v1alpha1.OperationPhase) bool) *v1alpha1.Operation {
	GinkgoHelper()
	var op *v1alpha1.Operation
	// After a change of leader one Lease passes before another takes the place, and one more before it is believed.
	Expect(t.Within(podBound).Await(ctx, fmt.Sprintf("the operation of %s is %s", id, what), func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil {
			return false, "", err
		}
		if op = f.Status.Operation; op == nil {
			return false, "no operation; " + scene.Say(f), nil
		}
		return op.RequestID == id && done(op.Phase), fmt.Sprintf("%s %s: %s; %s", op.RequestID, op.Phase, op.Message, scene.Say(f)), nil
	})).To(Succeed())
	return op
}

// runs waits until the Kustomization is resumed for the request.
func runs(ctx context.Context, t *scene.Team, id string) {
	GinkgoHelper()
	reaches(ctx, t, id, "resumed", func(p v1alpha1.OperationPhase) bool { return p == v1alpha1.OperationRunning })
}

// ended waits for the end of the operation, whichever it is, and for the hold after it.
func ended(ctx context.Context, t *scene.Team, id string) *v1alpha1.Operation {
	GinkgoHelper()
	op := reaches(ctx, t, id, "over", v1alpha1.OperationPhase.Final)
	Expect(t.AwaitHeld(ctx)).To(Succeed())
	Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	return op
}

// succeeds waits for the end of the operation, which must have applied the commit.
func succeeds(ctx context.Context, t *scene.Team, id, commit string) *v1alpha1.Operation {
	GinkgoHelper()
	op := ended(ctx, t, id)
	Expect(op.Phase).To(Equal(v1alpha1.OperationSucceeded), op.Message)
	Expect(op.AppliedRevision).To(Equal("main@sha1:" + commit))
	return op
}

func kustomization(ctx context.Context, t *scene.Team) *kustomizev1.Kustomization {
	GinkgoHelper()
	k, err := t.Kustomization(ctx)
	Expect(err).NotTo(HaveOccurred())
	return k
}

// level is what the team's settings say in the cluster.
func level(ctx context.Context, t *scene.Team) string {
	GinkgoHelper()
	return kubectl(ctx, "-n", t.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
}

// beside has a Kustomization that nobody holds apply an object to the team's namespace, and returns its name in flux-system.
// more are fields of its spec. It goes with the story.
func beside(ctx context.Context, t *scene.Team, what, object string, more ...string) string {
	GinkgoHelper()
	name := t.Name + "-" + what
	Expect(world.Git.AddRepo(ctx, name, map[string]string{what + ".yaml": object})).To(Succeed())
	Expect(world.Apply(ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: flux-system}
spec:
  url: %[2]s
  interval: 1h
  ref: {branch: main}
  secretRef: {name: %[3]s}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: flux-system}
spec: {%[4]s}
`, name, world.Git.URL(name), t.Name, strings.Join(append([]string{
		"interval: 1h", "prune: false", "sourceRef: {kind: GitRepository, name: " + name + "}"}, more...), ", ")))).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		kubectl(ctx, "-n", cluster.FluxNamespace, "delete", "kustomization,gitrepository", name, "--wait=false")
	}, NodeTimeout(podBound))
	return name
}
