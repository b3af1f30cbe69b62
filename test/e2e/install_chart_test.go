package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// Nothing runs here that a node would run: what is proven is what the API server and helm make of the chart. Pods, and the
// uninstall's own Job, are proven on a real node.
var _ = Describe("The chart", Label("install"), Ordered, func() {
	var empty *cluster.World // without anything of Holdfast, and without Flux's controllers

	run := func(ctx context.Context, args ...string) string {
		GinkgoHelper()
		out, err := empty.Kubectl(ctx, cluster.Admin, args...)
		Expect(err).NotTo(HaveOccurred())
		return out
	}
	helm := func(ctx context.Context, verb string, args ...string) string {
		GinkgoHelper()
		out, err := empty.Helm(ctx, cluster.Admin, append([]string{verb, "holdfast"}, append(args, "--namespace", cluster.HoldfastNamespace)...)...)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Println(out)
		return out
	}
	// printed runs a block of docs/upgrade.md as it stands, in the checkout.
	printed := func(ctx context.Context, block int) {
		GinkgoHelper()
		run := blocks("upgrade.md")
		Expect(run).To(HaveLen(5), "those before the last two are run on a real node")
		cmd := exec.CommandContext(ctx, "sh", "-eu", "-c", run[block])
		cmd.Dir = empty.Checkout()
		cmd.Env = []string{"PATH=" + filepath.Dir(empty.KubectlPath()) + ":" + os.Getenv("PATH"), "HOME=" + empty.Dir, "KUBECONFIG=" + empty.Kubeconfig(cluster.Admin)}
		out, err := cmd.CombinedOutput()
		GinkgoWriter.Printf("%s\n%s\n", run[block], out)
		Expect(err).NotTo(HaveOccurred(), string(out))
	}
	// everything is what the chart's own tests switch on, but for what needs kinds of others.
	everything := []string{"-f", filepath.Join("..", "chart", "testdata", "everything", "values.yaml"), "--set", "monitoring.podMonitor.enabled=false", "--set", "gitmirror.audit.service.clusterIP="} // a Service keeps its address

	BeforeAll(func(ctx SpecContext) {
		var err error
		empty, err = cluster.Start(context.WithoutCancel(ctx), cluster.Options{WithoutFlux: true, Out: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(empty.Stop()).To(Succeed()) })
		Expect(empty.PrepareClients(ctx)).To(Succeed())
		// What a world has of the chart from its files.
		kinds := strings.Fields(run(ctx, "get", "crd", "-o", "name"))
		for _, kind := range kinds {
			if strings.HasSuffix(kind, ".holdfast.dev") {
				run(ctx, "delete", kind)
			}
		}
		run(ctx, "delete", "clusterrole", "holdfast-holder", "holdfast-gitmirror", "--ignore-not-found")
		run(ctx, "-n", cluster.FluxNamespace, "delete", "role", "holdfast-holder", "--ignore-not-found")
		run(ctx, "create", "namespace", "team-b")
	}, NodeTimeout(30*time.Minute))

	It("renders nothing the API server does not know to the letter", storyBound, func(ctx SpecContext) {
		dirs, err := filepath.Glob(filepath.Join("..", "chart", "testdata", "*"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(dirs)).To(BeNumerically(">=", 5))
		run(ctx, "create", "namespace", "gitops")
		for _, dir := range dirs {
			objects := helm(ctx, "template", chart, "-f", filepath.Join(dir, "values.yaml"),
				"--set", "monitoring.podMonitor.enabled=false", "--set", "kubeProvider.default.enabled=false", "--set", "crds.enabled=false")
			_, err := empty.KubectlInput(ctx, cluster.Admin, objects, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), dir)
		}
	})

	It("brings an older kind along when it is upgraded, and takes over what it made as a hook", storyBound, func(ctx SpecContext) {
		older := olderChart()
		out := helm(ctx, "install", older, "--set", "kubeProvider.default.enabled=true")
		Expect(out).To(ContainSubstring("kubectl label namespace flux-system holdfast.dev/inject=enabled"))
		const field = `jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.onDelete.type}`
		Expect(run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", field)).To(BeEmpty(), "the older one does not know it")
		provider := run(ctx, "get", "kubeprovider", "default", "-o", "jsonpath={.metadata.uid}")
		_, err := empty.KubectlInput(ctx, cluster.Admin, `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: holdfast-injector}
webhooks: [{name: inject.holdfast.dev, clientConfig: {caBundle: `+caBundle+`}}]
`, "apply", "--server-side", "--field-manager=holdfast-injector", "--force-conflicts", "-f", "-")
		Expect(err).NotTo(HaveOccurred())

		helm(ctx, "upgrade", append([]string{chart}, everything...)...)
		Expect(run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", field)).To(Equal("string"))
		Expect(run(ctx, "get", "kubeprovider", "default", "-o", "jsonpath={.metadata.uid} {.spec.allowCrossNamespace.appliers} {.spec.accessFrom.namespaceSelectors[1].matchLabels.team}")).
			To(Equal(provider+" true b"), "it is the same one, and says what the values say now")
		Expect(run(ctx, "get", "mutatingwebhookconfiguration", "holdfast-injector", "-o", "jsonpath={.webhooks[0].clientConfig.caBundle} {.webhooks[0].timeoutSeconds}")).
			To(Equal(caBundle+" 3"), "the injector's certificate stays") // B4
	})

	It("goes back to the older kind and forth again, by the command the page about upgrades prints", storyBound, func(ctx SpecContext) {
		const field = `jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.onDelete.type}`
		printed(ctx, 4)
		Expect(run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", field)).To(BeEmpty())
		helm(ctx, "upgrade", append([]string{chart}, everything...)...)
		Expect(run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", field)).To(Equal("string"))
	})

	It("changes nothing when it is upgraded to what it is", storyBound, func(ctx SpecContext) {
		look := func() string {
			var all []string
			for _, kind := range []string{
				"crd,clusterrole,clusterrolebinding,mutatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding,kubeprovider",
				"configmap,service,serviceaccount,role,rolebinding,networkpolicy",
			} {
				all = append(all, run(ctx, "get", kind, "-A", "-l", "app.kubernetes.io/part-of=holdfast", "-o",
					`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`))
			}
			// A Deployment's status moves, and so may a claim's: what they say does not.
			all = append(all, run(ctx, "get", "persistentvolumeclaim", "-n", cluster.HoldfastNamespace, "-o", `jsonpath={range .items[*]}{.metadata.labels} {.metadata.annotations} {.spec}{"\n"}{end}`))
			return strings.Join(append(all, run(ctx, "get", "deployment", "-n", cluster.HoldfastNamespace, "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{"\n"}{end}`)), "")
		}
		before := look()
		Expect(strings.Count(before, "\n")).To(BeNumerically(">=", 35))
		helm(ctx, "upgrade", append([]string{chart}, everything...)...)
		Expect(look()).To(Equal(before))
	})

	It("names programs by flags they know", storyBound, func(ctx SpecContext) {
		for name, pkg := range map[string]string{"injector": "./injector", "gitmirror": "./gitmirror"} {
			path := filepath.Join(filepath.Dir(empty.KubectlPath()), name+"-of-the-chart")
			build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("..", ".."), "-o", path, pkg)
			build.Env = append(os.Environ(), "CGO_ENABLED=0")
			out, err := build.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			args := strings.Fields(run(ctx, "-n", cluster.HoldfastNamespace, "get", "deployment", "holdfast-"+name, "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}"))
			Expect(len(args)).To(BeNumerically(">", 3))
			out, err = exec.CommandContext(ctx, path, append(args, "--version")...).CombinedOutput() // which ends it once all before are read
			Expect(err).NotTo(HaveOccurred(), string(out))
			Expect(string(out)).To(HavePrefix(name + " "))
		}
	})

	It("hands back before it goes, under an identity the fence admits, and tells when it cannot", storyBound, func(ctx SpecContext) {
		heldByNobody(ctx, empty)
		_, err := empty.Kubectl(ctx, cluster.Admin, "-n", cluster.FluxNamespace, "patch", "kustomization", "app", "--type=merge", "-p", resume)
		Expect(err).To(MatchError(ContainSubstring("is held by Holdfast")), "the fence stands")

		By("the Job does not get to run")
		_, err = empty.Helm(ctx, cluster.Admin, "uninstall", "holdfast", "--namespace", cluster.HoldfastNamespace, "--timeout", "3s")
		Expect(err).To(MatchError(ContainSubstring("Job/holdfast-system/holdfast-uninstall")))
		Expect(run(ctx, "-n", cluster.HoldfastNamespace, "get", "deployment", "-o", "name")).NotTo(BeEmpty(), "nothing is gone that is needed")
		Expect(run(ctx, "-n", cluster.FluxNamespace, "get", "kustomization", "app", "-o", "jsonpath={.spec.suspend}")).To(Equal("true"))
		Expect(run(ctx, "get", "clusterrole,clusterrolebinding", "holdfast-uninstall", "--ignore-not-found")).To(BeEmpty(), "its rights are")

		By("and does the second time")
		job := func() string {
			return run(ctx, "-n", cluster.HoldfastNamespace, "get", "job", "holdfast-uninstall", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
		}
		first := job()
		Expect(first).NotTo(BeEmpty(), "what it said can be read")
		ended := make(chan error, 1)
		go func() {
			_, err := empty.Helm(ctx, cluster.Admin, "uninstall", "holdfast", "--namespace", cluster.HoldfastNamespace, "--timeout", "100s")
			ended <- err
		}()
		Eventually(job).WithTimeout(30*time.Second).WithPolling(200*time.Millisecond).ShouldNot(Or(BeEmpty(), Equal(first)), "another Job, for which the account is there")
		kubeconfig := asServiceAccount(ctx, empty, cluster.HoldfastNamespace, "holdfast-uninstall")
		said := strings.Fields(run(ctx, "-n", cluster.HoldfastNamespace, "get", "job", "holdfast-uninstall", "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}"))
		path, err := command()
		Expect(err).NotTo(HaveOccurred())
		out, err := exec.CommandContext(ctx, path, append(said, "--kubeconfig", kubeconfig)...).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		Expect(string(out)).To(Equal("FluxTrigger team-b/app: Kustomization flux-system/app is handed back and applies on its own\n"))
		run(ctx, "-n", cluster.HoldfastNamespace, "patch", "job", "holdfast-uninstall", "--subresource=status", "--type=merge", "-p", done(time.Now()))
		Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()))

		By("after which the kinds are left, what was made of them, and the volume")
		Expect(run(ctx, "get", "kubeprovider", "default", "-o", "name")).NotTo(BeEmpty())
		Expect(run(ctx, "-n", cluster.HoldfastNamespace, "get", "persistentvolumeclaim", "holdfast-gitmirror", "-o", "name")).NotTo(BeEmpty())
		Expect(strings.Count(run(ctx, "get", "crd", "-o", "name"), ".holdfast.dev")).To(Equal(5))
		Expect(run(ctx, "get", "clusterrole,clusterrolebinding,mutatingwebhookconfiguration,validatingadmissionpolicy,validatingadmissionpolicybinding",
			"-l", "app.kubernetes.io/part-of=holdfast", "-o", "name")).To(BeEmpty())
		Expect(run(ctx, "get", "deployment,service,configmap,serviceaccount,role,rolebinding,networkpolicy,job,poddisruptionbudget", "-A",
			"-l", "app.kubernetes.io/part-of=holdfast", "-o", "name")).To(BeEmpty())
	})

	It("can be installed again over what it left", storyBound, func(ctx SpecContext) {
		helm(ctx, "install", append([]string{chart}, everything...)...)
		helm(ctx, "uninstall", "--no-hooks")
	})

	It("takes over kinds that were applied by hand, by the command the page about upgrades prints", storyBound, func(ctx SpecContext) {
		for _, kind := range strings.Fields(run(ctx, "get", "crd", "-o", "name")) {
			if strings.HasSuffix(kind, ".holdfast.dev") {
				run(ctx, "delete", kind)
			}
		}
		run(ctx, "apply", "-f", filepath.Join(chart, "files", "crds"))
		uid := func() string {
			return run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", "jsonpath={.metadata.uid}")
		}
		before := uid()
		_, err := empty.Helm(ctx, cluster.Admin, "install", "holdfast", chart, "--namespace", cluster.HoldfastNamespace)
		Expect(err).To(MatchError(ContainSubstring("invalid ownership metadata")), "without saying so it is refused")
		printed(ctx, 3)
		Expect(uid()).To(Equal(before))
		Expect(run(ctx, "get", "crd", "fluxtriggers.holdfast.dev", "-o", `jsonpath={.metadata.annotations.meta\.helm\.sh/release-name}`)).To(Equal("holdfast"))
		helm(ctx, "uninstall", "--no-hooks")
	})
})

const caBundle = "LS0tLS1CRUdJTg==" // any bytes do for the API server

// olderChart is a copy of the chart whose FluxTrigger lacks a field that it has now.
func olderChart() string {
	GinkgoHelper()
	dir := filepath.Join(GinkgoT().TempDir(), "holdfast")
	Expect(os.CopyFS(dir, os.DirFS(chart))).To(Succeed())
	path := filepath.Join(dir, "files", "crds", "holdfast.dev_fluxtriggers.yaml")
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	// The name stays in rules and comments; what is served is the property.
	older := strings.Replace(string(content), "\n              onDelete:\n", "\n              formerly:\n", 1)
	Expect(older).NotTo(Equal(string(content)))
	Expect(os.WriteFile(path, []byte(older), 0o644)).To(Succeed())
	path = filepath.Join(dir, "Chart.yaml")
	content, err = os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(path, []byte(strings.Replace(string(content), "\nversion: ", "\nversion: 0.0.1-before-", 1)), 0o644)).To(Succeed())
	return dir
}

// heldByNobody makes a trigger and a Kustomization as a holder leaves them that is gone.
func heldByNobody(ctx context.Context, w *cluster.World) {
	GinkgoHelper()
	out, err := w.KubectlInput(ctx, cluster.Admin, `apiVersion: holdfast.dev/v1alpha1
kind: FluxTrigger
metadata: {namespace: team-b, name: app, finalizers: [holdfast.dev/hold]}
spec: {kustomizationRef: {namespace: flux-system, name: app}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: flux-system, name: app}
spec: {interval: 1h, prune: true, sourceRef: {kind: GitRepository, name: app}}
`, "create", "-f", "-") // what kubectl applied, an apply by another manager would take over
	Expect(err).NotTo(HaveOccurred(), out)
	uids := [2]string{}
	for i, args := range [][]string{{"get", "namespace", "kube-system"}, {"-n", "team-b", "get", "fluxtrigger", "app"}} {
		uids[i], err = w.Kubectl(ctx, cluster.Admin, append(args, "-o", "jsonpath={.metadata.uid}")...)
		Expect(err).NotTo(HaveOccurred())
	}
	_, err = w.KubectlInput(ctx, cluster.Admin, fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: flux-system, name: app, finalizers: [holdfast.dev/hold], annotations: {holdfast.dev/held-by: %s/%s}}
spec: {suspend: true}
`, uids[0], uids[1]), "apply", "--server-side", "--field-manager=holdfast", "-f", "-")
	Expect(err).NotTo(HaveOccurred())
}

// asServiceAccount returns a kubeconfig with a token of the account.
func asServiceAccount(ctx context.Context, w *cluster.World, namespace, name string) string {
	GinkgoHelper()
	token, err := w.Kubectl(ctx, cluster.Admin, "-n", namespace, "create", "token", name)
	Expect(err).NotTo(HaveOccurred())
	c, err := clientcmd.LoadFromFile(w.Kubeconfig(cluster.Admin))
	Expect(err).NotTo(HaveOccurred())
	for user := range c.AuthInfos {
		c.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	}
	path := filepath.Join(GinkgoT().TempDir(), name)
	Expect(clientcmd.WriteToFile(*c, path)).To(Succeed())
	return path
}

// done is the status of a Job that has done its work.
func done(now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	return fmt.Sprintf(`{"status":{"startTime":%[1]q,"completionTime":%[1]q,"succeeded":1,"conditions":[
{"type":"SuccessCriteriaMet","status":"True","lastTransitionTime":%[1]q},{"type":"Complete","status":"True","lastTransitionTime":%[1]q}]}}`, at)
}
