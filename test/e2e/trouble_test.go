package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// freeze stops a program of the world where it is, as a node without CPU does, until thaw or the end of the story. A frozen
// source-controller serves no artifact, so that a run that started waits in its first step.
func freeze(program string) (thaw func()) {
	GinkgoHelper()
	pid := world.PIDs()[program]
	Expect(pid).NotTo(BeZero(), program+" runs")
	Expect(syscall.Kill(pid, syscall.SIGSTOP)).To(Succeed())
	thaw = sync.OnceFunc(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	DeferCleanup(thaw)
	return thaw
}

// crashHolder is kill -9 of the holder; at the end of the story one runs again.
func crashHolder() {
	GinkgoHelper()
	Expect(world.StopHolder(false)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if !world.Running(cluster.Holder) {
			Expect(world.StartHolder(ctx)).To(Succeed())
		}
	})
}

// stillTeam is a settled team for which gitmirror asks for nothing any more: the story does.
func stillTeam(ctx context.Context, name string) *scene.Team {
	GinkgoHelper()
	return settledTeam(ctx, scene.Options{Name: name, Quiet: time.Hour})
}

// ask writes a request as gitmirror does.
func ask(ctx context.Context, t *scene.Team, id, commit string) {
	GinkgoHelper()
	Expect(t.Ask(ctx, id, commit)).To(Succeed())
}

// fetched waits until the source holds the commit, which nobody asked to apply.
func fetched(ctx context.Context, t *scene.Team, commit string) {
	GinkgoHelper()
	by(ctx, t, "gitrepository", fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"fetch-%s"}}}`, commit))
	Expect(t.Await(ctx, "the source holds "+commit, func(ctx context.Context) (bool, string, error) {
		g, err := t.GitRepository(ctx)
		if err != nil || g.Status.Artifact == nil {
			return false, "no artifact", err
		}
		return g.Status.Artifact.HasRevision("main@sha1:" + commit), g.Status.Artifact.Revision, nil
	})).To(Succeed())
}

// pushed commits another log level and waits until the source holds it.
func pushed(ctx context.Context, t *scene.Team, level string) string {
	GinkgoHelper()
	commit := pushLevel(ctx, t, level)
	fetched(ctx, t, commit)
	return commit
}

// by patches an object of Flux as Bob, who leads the team.
func by(ctx context.Context, t *scene.Team, kind, patch string) {
	GinkgoHelper()
	kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", kind, t.Name, "--type=merge", "-p", patch)
}

const (
	resume  = `{"spec":{"suspend":false}}`
	suspend = `{"spec":{"suspend":true}}`
	stamp   = `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"by-hand"}}}`
)

// reaches waits until the operation of the request is in that phase.
func reaches(ctx context.Context, t *scene.Team, id string, phase v1alpha1.OperationPhase) *v1alpha1.Operation {
	GinkgoHelper()
	var op *v1alpha1.Operation
	Expect(t.Await(ctx, fmt.Sprintf("the operation of %s is %s", id, phase), func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil {
			return false, "", err
		}
		if op = f.Status.Operation; op == nil {
			return false, "no operation; " + scene.Say(f), nil
		}
		return op.RequestID == id && op.Phase == phase, fmt.Sprintf("%s %s: %s; %s", op.RequestID, op.Phase, op.Message, scene.Say(f)), nil
	})).To(Succeed())
	return op
}

// ends waits for the end of the operation and for the hold after it.
func ends(ctx context.Context, t *scene.Team, id string, phase v1alpha1.OperationPhase) *v1alpha1.Operation {
	GinkgoHelper()
	op := reaches(ctx, t, id, phase)
	Expect(t.AwaitHeld(ctx)).To(Succeed())
	Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	return op
}

func kustomization(ctx context.Context, t *scene.Team) *kustomizev1.Kustomization {
	GinkgoHelper()
	k, err := t.Kustomization(ctx)
	Expect(err).NotTo(HaveOccurred())
	return k
}

// handedBack waits until the Kustomization applies on its own and bears no mark of the hold.
func handedBack(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the Kustomization is handed back", func(ctx context.Context) (bool, string, error) {
		k, err := t.Kustomization(ctx)
		mark, kept := k.Annotations[v1alpha1.HeldByAnnotation], slices.Contains(k.Finalizers, v1alpha1.HoldFinalizer)
		return !k.Spec.Suspend && mark == "" && !kept && !k.CreationTimestamp.IsZero(), fmt.Sprintf("suspend %v, held by %q, kept %v", k.Spec.Suspend, mark, kept), err
	})).To(Succeed())
}

// settling starts an operation whose run cannot get on until thaw.
func settling(ctx context.Context, t *scene.Team, level string) (commit string, thaw func()) {
	GinkgoHelper()
	commit = pushed(ctx, t, level)
	thaw = freeze(cluster.SourceController)
	ask(ctx, t, "r1", commit)
	reaches(ctx, t, "r1", v1alpha1.OperationSettling)
	return commit, thaw
}

// resumed starts an operation that is resumed while no kustomize-controller runs. The one that begin starts knows what is so
// then, and not what was before: one that is only frozen reads on from where it was, and may start what is suspended by now.
func resumed(ctx context.Context, t *scene.Team, level string) (commit string, begin func()) {
	GinkgoHelper()
	commit = pushed(ctx, t, level)
	Expect(world.Kill(cluster.KustomizeController)).To(Succeed())
	begin = func() {
		GinkgoHelper()
		Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
	}
	DeferCleanup(func(ctx SpecContext) {
		if !world.Running(cluster.KustomizeController) {
			Expect(world.Revive(ctx, cluster.KustomizeController)).To(Succeed())
		}
	})
	ask(ctx, t, "r1", commit)
	reaches(ctx, t, "r1", v1alpha1.OperationRunning)
	return commit, begin
}

// deny refuses the holder's writes of the team's Kustomization for which the CEL expression is true, until allow. The reason
// it gives is no matter of permissions, so the holder tries again and withdraws nothing.
func deny(ctx context.Context, t *scene.Team, expression string) (allow func()) {
	GinkgoHelper()
	name := "deny-" + t.Name
	Expect(world.Apply(ctx, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [kustomize.toolkit.fluxcd.io], apiVersions: ["*"], operations: [UPDATE], resources: [kustomizations]}]
  matchConditions:
  - {name: holder, expression: 'request.userInfo.username == "%[2]s" && request.name == "%[3]s"'}
  validations: [{expression: '!(%[4]s)', message: denied by the story, reason: RequestEntityTooLarge}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, cluster.HolderUser, t.Name, expression))).To(Succeed())
	holder, err := world.Client(cluster.HolderUser)
	Expect(err).NotTo(HaveOccurred())
	enforced := func(want bool) {
		Expect(t.Await(ctx, fmt.Sprintf("the policy is enforced: %v", want), func(ctx context.Context) (bool, string, error) {
			k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name}}
			err := holder.Patch(ctx, k, client.RawPatch(types.MergePatchType, []byte(resume)), client.DryRunAll)
			return (err != nil) == want, fmt.Sprint(err), nil
		})).To(Succeed())
	}
	enforced(true)
	return func() {
		GinkgoHelper()
		kubectl(ctx, cluster.Admin, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", name)
		enforced(false)
	}
}
