package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// command builds the command line, once.
var command = sync.OnceValues(func() (string, error) { return world.BuildCommand(context.Background()) })

// spoken is what a run of the command printed, and its exit code.
type spoken struct {
	out, errs string
	code      int
}

// holdfast runs the command as user.
func holdfast(ctx context.Context, user string, args ...string) spoken {
	GinkgoHelper()
	path, err := command()
	Expect(err).NotTo(HaveOccurred())
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, path, append(args, "--kubeconfig", world.Kubeconfig(user))...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Fail(err.Error())
	}
	said := spoken{out: out.String(), errs: errs.String(), code: cmd.ProcessState.ExitCode()}
	GinkgoWriter.Printf("holdfast %s\n%s%sexit code %d\n", strings.Join(args, " "), said.out, said.errs, said.code)
	return said
}

// free sees to it that nothing of the hold is left on the team's Kustomization, and that its trigger is gone.
func free(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	k := kustomization(ctx, t)
	Expect(k.Annotations).NotTo(HaveKey(v1alpha1.HeldByAnnotation))
	Expect(k.Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
	for _, m := range k.ManagedFields {
		Expect(m.Manager).NotTo(Equal(v1alpha1.HolderFieldManager))
	}
	_, err := t.Trigger(ctx)
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the trigger is gone: %v", err)
}

var _ = Describe("Somebody who wants a Kustomization back while nothing of Holdfast runs", Label("flux"), func() {
	It("gets it, and Flux applies what is pushed from then on", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-one")
		crashHolder()
		said := holdfast(ctx, cluster.Admin, "release", "release-one/web")
		Expect(said.out).To(Equal("FluxTrigger release-one/web: Kustomization flux-system/release-one is handed back and applies on its own\n"), said.errs)
		Expect(said.code).To(BeZero())
		free(ctx, t)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
		pushed(ctx, t, "debug")
		Expect(t.Await(ctx, "it is applied", func(ctx context.Context) (bool, string, error) {
			l, err := world.Kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
			return l == "debug", l, err
		})).To(Succeed())

		By("and is told that there is nothing left to hand back")
		said = holdfast(ctx, cluster.Admin, "release", "release-one/web")
		Expect(said.out).To(ContainSubstring("there is none of that name"))
		Expect(said.code).To(Equal(1))
	})

	It("gets everything with --all, also what a trigger left behind, and can see it before", storyBound, func(ctx SpecContext) {
		t, left := stillTeam(ctx, "release-all"), stillTeam(ctx, "release-left")
		crashHolder()
		kubectl(ctx, cluster.Admin, "-n", left.Name, "patch", "fluxtrigger", "web", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		kubectl(ctx, cluster.Admin, "-n", left.Name, "delete", "fluxtrigger", "web")

		said := holdfast(ctx, cluster.Admin, "release", "--all", "--dry-run")
		Expect(said.out).To(And(
			ContainSubstring("FluxTrigger release-all/web: would be deleted, and Kustomization flux-system/release-all handed back\n"),
			ContainSubstring("Kustomization flux-system/release-left: would be handed back; its trigger is gone\n"),
		))
		Expect(said.code).To(BeZero())
		Expect(kustomization(ctx, t).Spec.Suspend && kustomization(ctx, left).Spec.Suspend).To(BeTrue(), "nothing is done")

		said = holdfast(ctx, cluster.Admin, "release", "--all", "--yes")
		Expect(said.code).To(BeZero(), said.errs)
		Expect(strings.Count(said.out, "applies on its own\n")).To(BeNumerically(">=", 2))
		for _, team := range []*scene.Team{t, left} {
			free(ctx, team)
			Expect(kustomization(ctx, team).Spec.Suspend).To(BeFalse())
		}
		Expect(holdfast(ctx, cluster.Admin, "release", "--all").out).To(Equal("nothing is held\n"))
	})

	It("gets what is in the middle of an apply suspended first", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-running")
		_, begin := resumed(ctx, t, "debug")
		crashHolder()
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse(), "an operation has it resumed")
		done := make(chan spoken, 1)
		go func() {
			defer GinkgoRecover()
			done <- holdfast(ctx, cluster.Admin, "release", "release-running/web")
		}()
		Expect(t.Await(ctx, "it is suspended, with a token of this command", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			token := k.Annotations["reconcile.fluxcd.io/requestedAt"]
			return k.Spec.Suspend && strings.HasPrefix(token, "release-"), token, err
		})).To(Succeed())
		begin()
		said := <-done
		Expect(said.code).To(BeZero(), said.out+said.errs)
		free(ctx, t)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
	})

	It("is told who keeps it suspended", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-shared")
		crashHolder()
		_, err := world.KubectlInput(ctx, cluster.Admin, `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: flux-system, name: release-shared}
spec: {suspend: true}
`, "apply", "--server-side", "--force-conflicts", "--field-manager=parent", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
		said := holdfast(ctx, cluster.Admin, "release", "release-shared/web")
		Expect(said.out).To(HaveSuffix("is handed back and stays suspended by field manager parent (Apply)\n"), said.errs)
		Expect(said.code).To(BeZero())
		free(ctx, t)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
	})

	It("gets it when the namespace of the trigger is being deleted", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-ns")
		crashHolder()
		kubectl(ctx, cluster.Admin, "delete", "namespace", t.Name, "--wait=false")
		Expect(t.Await(ctx, "the trigger is all that keeps the namespace", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return !f.DeletionTimestamp.IsZero(), "not deleted", err
		})).To(Succeed())
		said := holdfast(ctx, cluster.Admin, "release", "release-ns/web")
		Expect(said.code).To(BeZero(), said.out+said.errs)
		free(ctx, t)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
		Expect(t.Await(ctx, "the namespace is gone", func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.Admin, "get", "namespace", t.Name, "--ignore-not-found", "-o", "name")
			return out == "", out, err
		})).To(Succeed())
	})

	It("gets it when the kinds of Holdfast are half gone", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-kinds")
		crashHolder()
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, cluster.Admin, "apply", "--server-side", "-f", filepath.Join("..", "..", "charts", "holdfast", "files", "crds"))
			kubectl(ctx, cluster.Admin, "wait", "--for=condition=Established", "crd/fluxtriggers.holdfast.dev")
		})
		kubectl(ctx, cluster.Admin, "delete", "crd", "fluxtriggers.holdfast.dev", "--wait=false")
		Expect(t.Await(ctx, "the trigger is all that keeps its kind", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			return !f.DeletionTimestamp.IsZero(), "not deleted", err
		})).To(Succeed())
		said := holdfast(ctx, cluster.Admin, "release", "--all")
		Expect(said.code).To(Equal(1))
		Expect(said.errs).To(ContainSubstring("no terminal to ask at; say --yes"))
		said = holdfast(ctx, cluster.Admin, "release", "--all", "--yes")
		Expect(said.code).To(BeZero(), said.out+said.errs)
		Expect(said.out).To(ContainSubstring("Kustomization flux-system/release-kinds is handed back and applies on its own\n"))
		Expect(t.Await(ctx, "the kind is gone", func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.Admin, "get", "crd", "fluxtriggers.holdfast.dev", "--ignore-not-found", "-o", "name")
			return out == "", out, err
		})).To(Succeed())

		By("and is told that nothing is held once they are gone")
		Expect(holdfast(ctx, cluster.Admin, "release", "--all")).To(Equal(spoken{out: "nothing is held\n"}))
	})

	It("is told which permission is missing, and can go on as somebody else", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-denied")
		crashHolder()
		said := holdfast(ctx, cluster.Deployer, "release", "release-denied/web")
		Expect(said.out).To(ContainSubstring("you may not get fluxtriggers.holdfast.dev in namespace release-denied"))
		Expect(said.code).To(Equal(1))
		_, err := t.Trigger(ctx)
		Expect(err).NotTo(HaveOccurred())

		By("also when it goes half the way")
		Expect(world.Apply(ctx, fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: release-denied}
rules:
- {apiGroups: [holdfast.dev], resources: [fluxtriggers], verbs: [get, delete, patch]}
- {apiGroups: [kustomize.toolkit.fluxcd.io], resources: [kustomizations], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: release-denied}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: release-denied}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %q}]
`, cluster.Deployer))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, cluster.Admin, "delete", "clusterrole,clusterrolebinding", "release-denied")
		})
		Expect(t.Await(ctx, "the permission is there", func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.Deployer, "auth", "can-i", "delete", "fluxtriggers.holdfast.dev", "-n", t.Name)
			return err == nil, out, nil
		})).To(Succeed())
		said = holdfast(ctx, cluster.Deployer, "release", "release-denied/web")
		Expect(said.out).To(ContainSubstring("you may not patch kustomizations.kustomize.toolkit.fluxcd.io in namespace flux-system"))
		Expect(said.code).To(Equal(1))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue(), "what it may not hand back stays held")
		Expect(holdfast(ctx, cluster.Admin, "release", "release-denied/web").code).To(BeZero())
		free(ctx, t)
	})
})

var _ = Describe("Somebody who wants a Kustomization back while a holder runs", Label("flux"), func() {
	It("gets it from the holder", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "release-holder")
		said := holdfast(ctx, cluster.Admin, "release", "release-holder/web")
		Expect(said.out).To(HaveSuffix("is handed back and applies on its own, by the holder that runs\n"), said.errs)
		Expect(said.code).To(BeZero())
		free(ctx, t)
	})
})
