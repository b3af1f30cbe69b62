package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var chart = filepath.Join("..", "..", "charts", "holdfast")

// fence puts up the API fence as the chart renders it, with this world's holder, until the story ends.
func fence(ctx context.Context, mode string, sets ...string) {
	GinkgoHelper()
	args := []string{"template", "holdfast", chart, "--namespace", cluster.HoldfastNamespace, "--set", "fence.mode=" + mode,
		"--set", "flux.serviceAccount=holdfast-holder"}
	for _, set := range sets {
		args = append(args, "--set", set)
	}
	for _, kind := range []string{"policy", "binding"} {
		args = append(args, "--show-only", "templates/fence/"+kind+"-kustomizations.yaml")
		if strings.Contains(strings.Join(sets, " "), "argocd.enabled=true") {
			args = append(args, "--show-only", "templates/fence/"+kind+"-applications.yaml")
		}
	}
	objects, err := world.Helm(ctx, cluster.Admin, args...)
	Expect(err).NotTo(HaveOccurred())
	_, err = world.KubectlInput(ctx, cluster.Admin, objects, "apply", "--server-side", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		_, err := world.KubectlInput(ctx, cluster.Admin, objects, "delete", "--ignore-not-found", "-f", "-") // a story may put it up twice
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(30*time.Second))
}

// fenced waits until the API server goes by the fence, which it learns of within seconds. Nothing is written.
func fenced(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	Expect(t.Await(ctx, "the fence stands", func(ctx context.Context) (bool, string, error) {
		out, err := world.Kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", t.Name, "--dry-run=server", "--type=merge", "-p", resume)
		return strings.Contains(out, "is held by Holdfast"), out, nilIf(err != nil, err)
	})).To(Succeed())
}

// nilIf is nil when that is so, and err otherwise.
func nilIf(so bool, err error) error {
	if so {
		return nil
	}
	return err
}

// still sees to it that the Kustomization is held as it was, and that nobody had to take anything back.
func still(ctx context.Context, t *scene.Team, before *kustomizev1.Kustomization) {
	GinkgoHelper()
	k := kustomization(ctx, t)
	Expect(k.Spec.Suspend).To(BeTrue())
	Expect(k.Annotations).To(HaveKeyWithValue(v1alpha1.HeldByAnnotation, before.Annotations[v1alpha1.HeldByAnnotation]))
	Expect(k.Generation).To(Equal(before.Generation))
	for _, op := range trigger(ctx, t).Status.History {
		Expect(op.Origin).NotTo(Equal(v1alpha1.OriginExternal))
	}
}

var _ = Describe("The API fence", Label("install"), Ordered, func() {
	BeforeAll(func(ctx SpecContext) { Expect(world.PrepareClients(ctx)).To(Succeed()) }, NodeTimeout(30*time.Minute))

	It("refuses everybody but the holder to resume what is held, and says what to do", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-deny")
		flux := cluster.FluxNamespace
		fence(ctx, "Deny")
		fenced(ctx, t)
		before := kustomization(ctx, t)
		minimal := fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: %s}\nspec: {suspend: false}\n", t.Name, flux)
		for means, do := range map[string]func() (string, error){
			"flux resume": func() (string, error) {
				return world.Flux(ctx, cluster.Bob, "resume", "kustomization", t.Name, "-n", flux)
			},
			"kubectl patch": func() (string, error) {
				return world.Kubectl(ctx, cluster.Bob, "-n", flux, "patch", "kustomization", t.Name, "--type=merge", "-p", resume)
			},
			"an administrator": func() (string, error) {
				return world.Kubectl(ctx, cluster.Admin, "-n", flux, "patch", "kustomization", t.Name, "--type=merge", "-p", resume)
			},
			"taking the field out": func() (string, error) {
				return world.Kubectl(ctx, cluster.Bob, "-n", flux, "patch", "kustomization", t.Name, "--type=json", "-p", `[{"op":"remove","path":"/spec/suspend"}]`)
			},
			"taking the mark off with it": func() (string, error) {
				return world.Kubectl(ctx, cluster.Bob, "-n", flux, "patch", "kustomization", t.Name, "--type=merge", "-p", `{"metadata":{"annotations":{"holdfast.dev/held-by":null}},"spec":{"suspend":false}}`)
			},
			"taking the mark off": func() (string, error) {
				return world.Kubectl(ctx, cluster.Bob, "-n", flux, "annotate", "kustomization", t.Name, "holdfast.dev/held-by-")
			},
			"putting another mark on": func() (string, error) {
				return world.Kubectl(ctx, cluster.Bob, "-n", flux, "annotate", "--overwrite", "kustomization", t.Name, "holdfast.dev/held-by=me")
			},
			"the holder's field manager": func() (string, error) {
				return world.KubectlInput(ctx, cluster.Bob, minimal, "apply", "--server-side", "--force-conflicts", "--field-manager=holdfast", "-f", "-")
			},
			"the holder's account by hand": func() (string, error) {
				return world.Kubectl(ctx, cluster.HolderUser, "-n", flux, "patch", "kustomization", t.Name, "--type=merge", "-p", resume)
			},
		} {
			out, err := do()
			Expect(err).To(HaveOccurred(), means)
			Expect(out).To(ContainSubstring("Kustomization "+flux+"/"+t.Name+" is held by Holdfast"), means)
			Expect(out).To(ContainSubstring("holdfast.dev/break-glass"), means)
		}
		still(ctx, t, before)

		By("and lets everything else through")
		kubectl(ctx, cluster.Bob, "-n", flux, "patch", "kustomization", t.Name, "--type=merge", "-p", `{"metadata":{"labels":{"team":"web"}}}`)
		kubectl(ctx, cluster.Bob, "-n", flux, "annotate", "kustomization", t.Name, "reconcile.fluxcd.io/requestedAt=by-hand", "--overwrite")
		_, err := world.Flux(ctx, cluster.Bob, "suspend", "kustomization", t.Name, "-n", flux)
		Expect(err).NotTo(HaveOccurred())
	})

	It("lets the holder apply, and hand back", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-holder")
		fence(ctx, "Deny")
		fenced(ctx, t)
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(level(ctx, t)).To(Equal("debug"))
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)

		By("after which it stands in nobody's way")
		_, err := world.Flux(ctx, cluster.Bob, "suspend", "kustomization", t.Name, "-n", cluster.FluxNamespace)
		Expect(err).NotTo(HaveOccurred())
		_, err = world.Flux(ctx, cluster.Bob, "resume", "kustomization", t.Name, "-n", cluster.FluxNamespace)
		Expect(err).NotTo(HaveOccurred())
	})

	It("fails a parent that resumes, and not its child", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-parent")
		fence(ctx, "Deny")
		fenced(ctx, t)
		before := kustomization(ctx, t)
		_, err := world.Git.Commit(ctx, t.Name, "main", bob, "Parent", map[string]string{"parent/child.yaml": child(t, "suspend: false")})
		Expect(err).NotTo(HaveOccurred())
		name := t.Name + "-parent"
		Expect(world.Apply(ctx, fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: %s}
spec: {path: ./parent, interval: 1h, retryInterval: 5s, prune: false, sourceRef: {kind: GitRepository, name: %s}}
`, name, cluster.FluxNamespace, t.Name))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "delete", "kustomization", name)
		})
		kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "annotate", "gitrepository", t.Name, "reconcile.fluxcd.io/requestedAt=parent", "--overwrite")
		Expect(t.Await(ctx, "the parent says why", func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "get", "kustomization", name, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].message}`)
			return strings.Contains(out, "is held by Holdfast") && strings.Contains(out, "kustomize-controller"), out, err
		})).To(Succeed())
		still(ctx, t, before)
	})

	It("lets those through who break the glass, and the holder takes it back and names them", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-glass")
		fence(ctx, "Deny")
		fenced(ctx, t)
		told := audited(ctx)
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "annotate", "kustomization", t.Name, "holdfast.dev/break-glass=")
		_, err := world.Kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", t.Name, "--type=merge", "-p", resume)
		Expect(err).To(MatchError(ContainSubstring("is held by Holdfast")), "there must be a reason")
		kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "annotate", "--overwrite", "kustomization", t.Name, "holdfast.dev/break-glass=incident 4711")
		out, _ := world.Flux(ctx, cluster.Bob, "resume", "kustomization", t.Name, "-n", cluster.FluxNamespace) // the holder is faster than it waits
		Expect(out).To(ContainSubstring("kustomization resumed"))
		Expect(out).NotTo(ContainSubstring("is held by Holdfast"))
		_, err = t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(t.AwaitHeld(ctx)).To(Succeed())

		By("and the audit log keeps who it was and why, at that one write")
		Eventually(func() []string { return told.annotations(t.Name, "holdfast-kustomizations/break-glass") }).WithTimeout(20 * time.Second).
			WithPolling(100 * time.Millisecond).Should(ConsistOf(cluster.Bob + " patch: " + cluster.Bob + ": incident 4711"))
		Expect(told.annotations(t.Name, "validation.policy.admission.k8s.io/validation_failure")).
			To(ConsistOf(HavePrefix(cluster.Bob+" patch: ")), "as it keeps the write that was refused")
	})

	It("only warns when it is told to", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-warn")
		fence(ctx, "Warn")
		Expect(t.Await(ctx, "the fence stands", func(ctx context.Context) (bool, string, error) {
			out, err := world.Kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", t.Name, "--dry-run=server", "--type=merge", "-p", resume)
			return strings.Contains(out, "Warning: ") && strings.Contains(out, "is held by Holdfast"), out, err
		})).To(Succeed())
		out := kubectl(ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", t.Name, "--type=merge", "-p", resume)
		Expect(out).To(And(ContainSubstring("is held by Holdfast"), ContainSubstring("patched")))
		_, err := t.AwaitEvent(ctx, v1alpha1.ReasonResumedElsewhere, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("lets a person hand back with the command when the chart names them", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "fence-person")
		crashHolder()
		fence(ctx, "Deny", "fence.users={nobody}")
		fenced(ctx, t)
		said := holdfast(ctx, cluster.Admin, "release", t.Name+"/web")
		Expect(said.code).To(Equal(1))
		Expect(said.out).To(ContainSubstring("is held by Holdfast"), "it says what is in its way")
		fence(ctx, "Deny", "fence.groups={system:masters}")
		Expect(t.Await(ctx, "the fence lets them", func(ctx context.Context) (bool, string, error) {
			said := holdfast(ctx, cluster.Admin, "release", t.Name+"/web")
			return said.code == 0, said.out, nil
		})).To(Succeed())
		handedBack(ctx, t)
	})

	It("keeps automated sync off on an Application that is held", storyBound, func(ctx SpecContext) {
		Expect(world.Apply(ctx, applicationKind)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, cluster.Admin, "delete", "crd", "applications.argoproj.io") })
		kubectl(ctx, cluster.Admin, "wait", "--for=condition=Established", "crd/applications.argoproj.io")
		kubectl(ctx, cluster.Admin, "create", "namespace", "argocd")
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, cluster.Admin, "delete", "namespace", "argocd", "--wait=false") })
		application := func(sync string) error {
			_, err := world.KubectlInput(ctx, cluster.Admin, fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd, annotations: {holdfast.dev/held-by: c/t}}
spec: {project: default, syncPolicy: %s}
`, sync), "replace", "--force", "-f", "-")
			return err
		}
		automate := func(sync string, args ...string) (string, error) {
			return world.Kubectl(ctx, cluster.Admin, append([]string{"-n", "argocd", "patch", "application", "web", "--type=merge", "-p", `{"spec":{"syncPolicy":` + sync + `}}`}, args...)...)
		}
		Expect(application("{automated: {enabled: false, prune: true}}")).To(Succeed())
		fence(ctx, "Deny", "argocd.enabled=true")
		Eventually(func() string { out, _ := automate(`{"automated":{"enabled":true}}`, "--dry-run=server"); return out }).WithTimeout(30 * time.Second).
			WithPolling(200 * time.Millisecond).Should(ContainSubstring("Application argocd/web is held by Holdfast"))
		for _, on := range []string{`{"automated":{"enabled":true}}`, `{"automated":{"enabled":null}}`} {
			_, err := automate(on)
			Expect(err).To(MatchError(ContainSubstring("only its holder may turn automated sync on")), on)
		}
		_, err := automate(`{"automated":{"prune":false}}`)
		Expect(err).NotTo(HaveOccurred(), "it stays off")
		_, err = automate(`{"automated":null}`)
		Expect(err).NotTo(HaveOccurred(), "without the field it is off as well")
		_, err = automate(`{"automated":{}}`)
		Expect(err).To(MatchError(ContainSubstring("only its holder may turn automated sync on")), "with an empty one it is on")
		_, err = automate(`{"automated":{}}`, "--as=system:serviceaccount:argocd:argocd-application-controller", "--as-group=system:masters", "--field-manager=holdfast")
		Expect(err).NotTo(HaveOccurred(), "the holder may")
	})
})

// applicationKind is as much of Argo CD as the fence looks at.
const applicationKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: applications.argoproj.io}
spec:
  group: argoproj.io
  names: {kind: Application, plural: applications, singular: application}
  scope: Namespaced
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`
