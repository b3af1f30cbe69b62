package stories

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// promptly is how long a pod may take to go whose holder never came up. Its grace period is twice as long.
const promptly = 30 * time.Second

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
}

// goneAfter deletes the pod and says how long it took.
func goneAfter(ctx context.Context, pod corev1.Pod) time.Duration {
	GinkgoHelper()
	begin := time.Now()
	kubectl(ctx, "-n", pod.Namespace, "delete", "pod", pod.Name, "--timeout="+podBound.String())
	return time.Since(begin)
}
