package e2e

import (
	"context"
	"encoding/json"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// B5: API servers call webhooks in the order of their configurations' names, ours as holdfast-injector.
var _ = Describe("Beside the injector of a service mesh", Label("install"), func() {
	DescribeTable("a pod gets one holder, after the mesh's proxy, and keeps what the mesh gave it", func(ctx SpecContext, name string) {
		injecting(ctx)
		mesh(ctx, name)
		here := namespace(ctx, "install-"+name, nil)
		before := reviews(ctx, "AlreadyInjected")
		got := made(ctx, golden(ctx, "flux-install", here))
		Expect(reviews(ctx, "AlreadyInjected")).To(BeNumerically(">", before), "the proxy's token came after ours, which is asked again then")
		var names []string
		for _, c := range got.Spec.InitContainers {
			names = append(names, c.Name)
		}
		Expect(names).To(Equal([]string{"istio-proxy", v1alpha1.HolderContainer}), "the proxy is up before the holder, and down after it")
		Expect(got.Annotations).To(And(HaveKey("sidecar.istio.io/status"), HaveKey(v1alpha1.InjectedAnnotation)))
		Expect(got.Spec.InitContainers[0].VolumeMounts).NotTo(BeEmpty(), "it has its token")

		By("what was injected is injected once, also when it is made anew from what it became")
		again := got.DeepCopy()
		again.ObjectMeta = metav1.ObjectMeta{Namespace: here, GenerateName: got.GenerateName, Labels: got.Labels, Annotations: got.Annotations}
		again.Status = corev1.PodStatus{}
		before = reviews(ctx, "AlreadyInjected")
		Expect(itself(made(ctx, again))).To(Equal(itself(got)))
		Expect(reviews(ctx, "AlreadyInjected")).To(BeNumerically(">", before))
	},
		Entry("that is called before ours", storyBound, "a-mesh"),
		Entry("that is called after ours", storyBound, "z-mesh"),
	)
})

// mesh is an injector like Istio's with native sidecars: it puts its proxy before all other init containers, once.
func mesh(ctx context.Context, name string) {
	GinkgoHelper()
	url, bundle := serveWebhook(func(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		allowed := &admissionv1.AdmissionResponse{Allowed: true}
		var pod corev1.Pod
		if json.Unmarshal(req.Object.Raw, &pod) != nil ||
			slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "istio-proxy" }) {
			return allowed
		}
		proxy := map[string]any{"name": "istio-proxy", "image": "docker.io/istio/proxyv2", "restartPolicy": "Always"}
		patch := []map[string]any{{"op": "add", "path": "/metadata/annotations/sidecar.istio.io~1status", "value": "{}"}}
		if len(pod.Spec.InitContainers) == 0 {
			patch = append(patch, map[string]any{"op": "add", "path": "/spec/initContainers", "value": []any{proxy}})
		} else {
			patch = append(patch, map[string]any{"op": "add", "path": "/spec/initContainers/0", "value": proxy})
		}
		allowed.Patch, _ = json.Marshal(patch) // strings and maps of them
		allowed.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
		return allowed
	})
	c := configuration(ctx)
	w := c.Webhooks[0]
	w.Name = name + ".istio.io"
	w.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	w.FailurePolicy = ptr.To(admissionregistrationv1.Fail)
	w.ReinvocationPolicy = ptr.To(admissionregistrationv1.IfNeededReinvocationPolicy)
	install(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.MutatingWebhook{w},
	}, "flux-install", func(got *corev1.Pod, err error) bool {
		return err == nil && got.Annotations["sidecar.istio.io/status"] != ""
	})
}
