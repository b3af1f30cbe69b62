package stories

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/node"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// free waits until Flux applies the team's Kustomization on its own, with nothing of the hold left on it and no trigger.
func free(ctx context.Context, t *scene.Team, trigger string) {
	GinkgoHelper()
	k := kustomization(ctx, t)
	Expect(k.Spec.Suspend).To(BeFalse())
	Expect(k.Annotations).NotTo(HaveKey(v1alpha1.HeldByAnnotation))
	Expect(k.Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
	for _, m := range k.ManagedFields {
		Expect(m.Manager).NotTo(Equal(v1alpha1.HolderFieldManager))
	}
	var f v1alpha1.FluxTrigger
	err := t.Client.Get(ctx, t.In(trigger), &f)
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the trigger is gone: %v", err)
}

// left are the objects of the chart that are still there, of the kinds it makes, besides Holdfast's own kinds.
func left(ctx context.Context) []string {
	GinkgoHelper()
	out := kubectl(ctx, "get", "-A", "-l", "app.kubernetes.io/name=holdfast", "-o", "name",
		"deployments,replicasets,pods,services,configmaps,serviceaccounts,jobs,roles,rolebindings,clusterroles,clusterrolebindings,"+
			"mutatingwebhookconfigurations,poddisruptionbudgets,validatingadmissionpolicies,validatingadmissionpolicybindings,networkpolicies")
	return strings.Fields(out)
}

// named are all objects named after Holdfast, of whatever kind. Events are left out: the API server drops them by itself.
func named(ctx context.Context) []string {
	GinkgoHelper()
	kinds := strings.Fields(kubectl(ctx, "api-resources", "--verbs=list", "-o", "name"))
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return kind == "events" || strings.HasPrefix(kind, "events.") || kind == "componentstatuses"
	})
	Expect(len(kinds)).To(BeNumerically(">", 40))
	all := strings.Fields(kubectl(ctx, "get", strings.Join(kinds, ","), "-A", "-o", "name"))
	return slices.DeleteFunc(all, func(name string) bool {
		return !strings.Contains(name, "holdfast") || strings.HasSuffix(name, "/"+node.Name) // the node has a name of ours
	})
}

// uninstalled waits until nothing that the chart made runs or grants anything any more.
func uninstalled(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() []string { return left(ctx) }).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(BeEmpty())
}

// reinstalled runs the guide once more, after an uninstall, without what it made for the reader alone.
func reinstalled(ctx context.Context) {
	GinkgoHelper()
	shell(ctx, "kubectl label namespace flux-system holdfast.dev/inject-")
	for _, script := range withoutAudit() {
		if !slices.ContainsFunc([]string{"create namespace", "create secret generic fleet-git"}, func(s string) bool { return strings.Contains(script, s) }) {
			shell(ctx, script)
		}
	}
	Expect(kustomization(ctx, guideTeam).Spec.Suspend).To(BeTrue(), "it is held again")
}

// podless ends every pod of Holdfast and kustomize-controller, and returns when there is none.
func podless(ctx context.Context) {
	GinkgoHelper()
	replicas(ctx, "holdfast-injector", 0)
	replicas(ctx, "holdfast-gitmirror", 0)
	controllers := func(ctx context.Context, count string) {
		GinkgoHelper()
		kubectl(ctx, "-n", cluster.FluxNamespace, "scale", "deployment/"+cluster.KustomizeController, "--replicas="+count)
	}
	DeferCleanup(func(ctx SpecContext) {
		controllers(ctx, "1")
		controllerPod(ctx)
	}, NodeTimeout(podBound))
	controllers(ctx, "0")
	Eventually(func() int { return len(controllerPods(ctx)) }).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(BeZero())
}

// fromTerminal says that a block of docs/uninstall.md is for where no pod can run.
func fromTerminal(script string) bool { return strings.Contains(script, "--no-hooks") }

func uninstallStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("hands everything back also when every pod is gone already", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "node-gone")
		commit := pushed(ctx, t, "debug")
		podless(ctx)
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())

		shell(ctx, "helm uninstall holdfast --namespace holdfast-system --wait --timeout 3m")
		free(ctx, t, "web")
		free(ctx, guideTeam, "team-a")
		uninstalled(ctx)

		By("and Flux, when it is back, applies what it has fetched")
		kubectl(ctx, "-n", cluster.FluxNamespace, "scale", "deployment/"+cluster.KustomizeController, "--replicas=1")
		pod := controllerPod(ctx)
		Expect(holderOf(pod)).To(BeNil())
		Expect(t.Await(ctx, "the commit is applied", func(ctx context.Context) (bool, string, error) {
			k, err := t.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+commit, k.Status.LastAppliedRevision, err
		})).To(Succeed())
		Expect(level(ctx, t)).To(Equal("debug"))
	})

	It("hands everything back from a terminal where no pod can run, by the command that is printed for it", storyBound, func(ctx SpecContext) {
		reinstalled(ctx)
		podless(ctx)
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "uncordon", node.Name) }, NodeTimeout(30*time.Second))
		kubectl(ctx, "cordon", node.Name)
		run := slices.DeleteFunc(blocks("uninstall.md"), func(script string) bool { return !fromTerminal(script) })
		Expect(run).To(HaveLen(1))
		shell(ctx, run[0])
		free(ctx, guideTeam, "team-a")
		uninstalled(ctx)
	})

	It("takes the guide back to a Kustomization that nobody holds, with its commands as they are printed", storyBound, func(ctx SpecContext) {
		By("installed anew, now as where nobody may configure the API server")
		reinstalled(ctx)

		By("an edit is mirrored and applied, and nobody is named")
		Expect(kubectl(ctx, "-n", "holdfast-system", "get", "service,secret", "-o", "name")).NotTo(ContainSubstring("service/holdfast-gitmirror"))
		tip, err := world.Git.Head(ctx, guideTeam.Name, gitserver.Branch)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, "-n", guideTeam.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"level":"trace"}}`)
		c, err := guideTeam.AwaitCommit(ctx, tip, "attribution-unresolved@holdfast.invalid")
		Expect(err).NotTo(HaveOccurred())
		Expect(guideTeam.Await(ctx, "the edit's commit is applied", func(ctx context.Context) (bool, string, error) {
			k, err := guideTeam.Kustomization(ctx)
			return k.Status.LastAppliedRevision == "main@sha1:"+c.Hash && k.Spec.Suspend, k.Status.LastAppliedRevision, err
		})).To(Succeed())

		run := slices.DeleteFunc(blocks("uninstall.md"), fromTerminal) // a pod can run here
		Expect(run).NotTo(BeEmpty())
		for _, script := range run {
			if strings.Contains(script, "customresourcedefinitions") {
				By("and what is left by then is what the page says: the kinds, and what a person made")
				Eventually(func() []string { return named(ctx) }).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(HaveEach(
					Or(HavePrefix("customresourcedefinition."), HavePrefix("apiservice."), ContainSubstring(".holdfast.dev/"),
						Equal("namespace/holdfast-system"), Equal("secret/holdfast-gitmirror-audit"))))
			}
			shell(ctx, script)
		}
		k := kustomization(ctx, guideTeam)
		Expect(k.Spec.Suspend).To(BeFalse())
		Expect(k.Finalizers).NotTo(ContainElement(v1alpha1.HoldFinalizer))
		uninstalled(ctx)
		Expect(holderOf(controllerPod(ctx))).To(BeNil())

		By("and after the last block nothing bears Holdfast's name but the namespace, which is the reader's")
		Eventually(func() []string { return named(ctx) }).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).
			Should(ConsistOf("namespace/holdfast-system"))
	})
}
