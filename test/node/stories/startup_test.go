package stories

import (
	"context"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// promptly is how long a pod may take to go whose holder never came up. Its grace period is twice as long.
const promptly = 30 * time.Second

// bound is how long a controller waits for its holder, unless that one's flags say otherwise.
const bound = 30 * time.Second

// stuckPod is a pod as kustomize-controller's, with a native sidecar of somebody else's, under an account that may not list
// triggers: its holder runs and does not get ready.
const stuckPod = `
apiVersion: v1
kind: Namespace
metadata: {name: node-stuck, labels: {holdfast.dev/inject: enabled}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: kustomize-controller, namespace: node-stuck}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: node-stuck}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: node-stuck}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: node-stuck}
subjects:
- {kind: ServiceAccount, name: kustomize-controller, namespace: node-stuck}
---
apiVersion: v1
kind: Pod
metadata: {name: kustomize-controller, namespace: node-stuck, labels: {app: kustomize-controller}}
spec:
  serviceAccountName: kustomize-controller
  terminationGracePeriodSeconds: 60
  initContainers:
  - {name: other, image: "holdfast.test/peer:test", imagePullPolicy: Never, restartPolicy: Always, args: [pause]}
  containers:
  - {name: manager, image: "ghcr.io/fluxcd/kustomize-controller:v1.9.6", imagePullPolicy: Never}
`

// withoutRights takes the bindings away by which the holder beside kustomize-controller may do its work, until back is called
// or the story ends. The controller can still apply ConfigMaps without them.
func withoutRights(ctx context.Context) (back func(context.Context)) {
	GinkgoHelper()
	var taken []*rbacv1.ClusterRoleBinding
	for _, name := range []string{"holdfast-holder", "cluster-reconciler-flux-system"} {
		b := &rbacv1.ClusterRoleBinding{}
		Expect(admin().Get(ctx, client.ObjectKey{Name: name}, b)).To(Succeed())
		taken = append(taken, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: b.Labels, Annotations: b.Annotations}, RoleRef: b.RoleRef, Subjects: b.Subjects,
		})
	}
	back = func(ctx context.Context) {
		GinkgoHelper()
		for _, b := range taken {
			Expect(admin().Create(ctx, b)).To(Succeed())
		}
		taken = nil
	}
	DeferCleanup(func(ctx SpecContext) { back(ctx) }, NodeTimeout(podBound))
	for _, b := range taken {
		Expect(admin().Delete(ctx, b.DeepCopy())).To(Succeed())
	}
	return back
}

func startupStories() {
	BeforeAll(func(ctx SpecContext) { installed(ctx) })

	It("goes promptly when it is deleted while its holder does not come up beside another sidecar", storyBound, func(ctx SpecContext) { // B8
		Expect(world.Apply(ctx, stuckPod)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, "delete", "namespace/node-stuck", "clusterrole/node-stuck", "clusterrolebinding/node-stuck", "--wait=false")
		}, NodeTimeout(podBound))
		pod := corev1.Pod{}
		pod.Namespace, pod.Name = "node-stuck", "kustomize-controller"
		Eventually(func(g Gomega) {
			g.Expect(admin().Get(ctx, client.ObjectKeyFromObject(&pod), &pod)).To(Succeed())
			of := statuses(pod)
			g.Expect(of["other"].State.Running).NotTo(BeNil())
			holder := of[v1alpha1.HolderContainer]
			g.Expect(holder.State.Running).NotTo(BeNil())
			g.Expect(time.Since(holder.State.Running.StartedAt.Time)).To(BeNumerically(">", 3*time.Second), "its probe has failed more than once")
			g.Expect(holder.Started).To(HaveValue(BeFalse()))
			g.Expect(of[manager].State.Waiting).NotTo(BeNil(), "the controller waits for it")
		}).WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Succeed())
		took := goneAfter(ctx, pod)
		AddReportEntry("the pod was gone after", took.Round(100*time.Millisecond).String())
		Expect(took).To(BeNumerically("<", promptly))
	})

	It("starts without waiting for ever for a holder that lacks its rights: nothing held is applied, and rights that come back are enough", storyBound, func(ctx SpecContext) { // B8
		t := stillTeam(ctx, "node-rights")
		back := withoutRights(ctx)
		old := controllerPod(ctx)
		kubectl(ctx, "-n", old.Namespace, "delete", "pod", old.Name, "--timeout="+podBound.String())
		beside(ctx, t, "unheld", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unheld, namespace: "+t.Name+"}\n")
		commit := pushed(ctx, t, "debug")
		kubectl(ctx, "-n", cluster.FluxNamespace, "annotate", "--overwrite", "kustomization", t.Name, "reconcile.fluxcd.io/requestedAt=by-hand")

		By("the controller waits for the bound, and no longer")
		pod := controllerPod(ctx)
		of := statuses(pod)
		waited := of[manager].State.Running.StartedAt.Sub(of[v1alpha1.HolderContainer].State.Running.StartedAt.Time)
		AddReportEntry("the controller waited for", waited.String())
		Expect(waited).To(And(BeNumerically(">=", bound-2*time.Second), BeNumerically("<", bound+20*time.Second))) // of whole seconds
		Expect(of[v1alpha1.HolderContainer].RestartCount).To(BeZero())

		By("it applies what nobody holds, and nothing that is held")
		Eventually(func() string { return kubectl(ctx, "-n", t.Name, "get", "configmap", "-o", "name") }).
			WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(ContainSubstring("configmap/unheld"))
		Consistently(func() string { return level(ctx, t) }).WithContext(ctx).WithTimeout(quiet).WithPolling(lookEvery).Should(Equal("info"))
		Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())

		By("and everybody can see it")
		at := forward(ctx)
		code, _, said := visit(at + "/readyz")
		Expect(code).To(Equal(http.StatusServiceUnavailable))
		Expect(said).To(And(ContainSubstring("FluxTriggers cannot be read"), ContainSubstring("forbidden"), ContainSubstring("bind the ClusterRole holdfast-holder")))
		code, _, said = visit(at + "/startz")
		Expect(code).To(Equal(http.StatusOK))
		Expect(said).To(ContainSubstring("does not wait for it any longer"))
		_, _, said = visit(at + "/metrics")
		Expect(said).To(And(ContainSubstring("\nholdfast_holder_bypassed 1\n"), ContainSubstring("\nholdfast_holder_ready 0\n")))
		Expect(kubectl(ctx, "-n", pod.Namespace, "logs", pod.Name, "-c", v1alpha1.HolderContainer)).To(ContainSubstring("beside a holder that does not hold"))

		By("with its rights the same process holds")
		back(ctx)
		Eventually(func() int { code, _, _ := visit(at + "/readyz"); return code }).
			WithContext(ctx).WithTimeout(podBound).WithPolling(lookEvery).Should(Equal(http.StatusOK)) // a watch that is refused is tried again after a minute at most
		_, _, said = visit(at + "/metrics")
		Expect(said).To(And(ContainSubstring("\nholdfast_holder_bypassed 0\n"), ContainSubstring("\nholdfast_holder_ready 1\n")))
		ask(ctx, t, "r1", commit)
		answered(ctx, t, "r1")
		Expect(level(ctx, t)).To(Equal("debug"))
		now := controllerPod(ctx)
		Expect(now.UID).To(Equal(pod.UID))
		for name, s := range statuses(now) {
			Expect(s.RestartCount).To(BeZero(), name)
		}
	})
}

// goneAfter deletes the pod and says how long it took.
func goneAfter(ctx context.Context, pod corev1.Pod) time.Duration {
	GinkgoHelper()
	begin := time.Now()
	kubectl(ctx, "-n", pod.Namespace, "delete", "pod", pod.Name, "--timeout="+podBound.String())
	return time.Since(begin)
}
