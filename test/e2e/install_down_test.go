package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

var _ = Describe("While no injector runs", Label("install"), func() {
	It("B1: every pod of the cluster can be made, and only those of controllers were ever asked about", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		Expect(world.StopInjector(false)).To(Succeed())
		flux := namespace(ctx, "install-down", nil)

		By("with nobody at the other end of the webhook")
		everyPod := append(append(append([]string{}, fluxFlavours...), argoFlavours...), otherControllers...)
		for _, folder := range everyPod {
			Expect(holder(made(ctx, golden(ctx, folder, flux)))).To(BeNil(), folder)
		}
		for _, pod := range systemPods(flux) {
			made(ctx, pod)
		}

		By("with somebody there who refuses whatever is asked, and a configuration that lets nothing through")
		asked := refuser(ctx)
		for _, folder := range otherControllers {
			made(ctx, golden(ctx, folder, flux))
		}
		for _, pod := range systemPods(flux) {
			made(ctx, pod)
		}
		plainNamespace(ctx, "install-down-unlabelled", nil)
		for _, folder := range everyPod {
			made(ctx, golden(ctx, folder, "install-down-unlabelled"))
		}
		Expect(asked()).To(BeEmpty())
		Expect(admin().Create(ctx, golden(ctx, "flux-install", flux))).To(MatchError(ContainSubstring("refused by the story")))
		Expect(asked()).To(HaveLen(1), "it does ask about a controller's pod")
	})

	It("B2: a controller that starts without its holder applies nothing, which is told, and nothing is evicted when the injector is back", SpecTimeout(healBound*3), func(ctx SpecContext) {
		injecting(ctx)
		flux := namespace(ctx, "install-restart", nil)
		t := settledTeam(ctx, scene.Options{Name: "install-held"})
		Expect(world.StopInjector(false)).To(Succeed())
		Expect(world.StopHolder(true)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			if !world.Running(cluster.Holder) {
				Expect(world.StartHolder(ctx)).To(Succeed())
			}
		})

		By("kustomize-controller is restarted, and its pod made without a holder")
		Expect(world.Restart(ctx, cluster.KustomizeController)).To(Succeed())
		pod := made(ctx, golden(ctx, "flux-install", flux))
		Expect(holder(pod)).To(BeNil())

		By("a push and an edit change nothing")
		before := kustomization(ctx, t).Status
		pushLevel(ctx, t, "debug")
		tip := head(ctx, t)
		fetched(ctx, t, tip)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=5")
		_, err := t.AwaitCommit(ctx, tip, cluster.Alice)
		Expect(err).NotTo(HaveOccurred(), "the edit is mirrored all the same")
		_, err = t.Within(healBound).AwaitReason(ctx, web(t), v1alpha1.ConditionHolderAvailable, v1alpha1.ReasonHolderMissing)
		Expect(err).NotTo(HaveOccurred())
		now := kustomization(ctx, t)
		Expect(now.Spec.Suspend).To(BeTrue())
		Expect(now.Status.LastAppliedRevision).To(Equal(before.LastAppliedRevision))
		Expect(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "deployment/web", "-o", "jsonpath={.spec.replicas}")).To(Equal("5"))

		By("the injector comes back, tells of the pod and leaves it")
		Expect(world.StartInjector(ctx, 2)).To(Succeed())
		toldOfPod(ctx, pod, "HolderMissing")
		gauge := `holdfast_injector_pods_without_holder{flavour="kustomize-controller",namespace="` + flux + `"}`
		Expect(injectorCount(ctx, gauge)).To(BeNumerically("==", 1))
		Expect(podNow(ctx, pod)).NotTo(BeNil())
		Expect(eventsOf(ctx, pod)).To(ConsistOf("HolderMissing"))

		By("somebody restarts it, and it has its holder")
		Expect(admin().Delete(ctx, pod)).To(Succeed())
		Expect(holder(made(ctx, golden(ctx, "flux-install", flux)))).NotTo(BeNil())
		Eventually(func() float64 { return injectorCount(ctx, gauge) }, "30s").Should(BeZero())
		Expect(world.StartHolder(ctx)).To(Succeed())
		_, err = t.Within(healBound).AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
	})
})

// systemPods are pods as kube-system has them, one of them in the namespace of Flux as well.
func systemPods(flux string) []*corev1.Pod {
	pod := func(namespace, app string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: app + "-", Labels: map[string]string{"k8s-app": app, "app.kubernetes.io/name": app}},
			Spec: corev1.PodSpec{
				HostNetwork: namespace == "kube-system", PriorityClassName: "system-node-critical", AutomountServiceAccountToken: ptr.To(false),
				Containers: []corev1.Container{{Name: app, Image: "registry.k8s.io/" + app}},
			},
		}
	}
	return []*corev1.Pod{pod("kube-system", "kube-dns"), pod("kube-system", "kube-proxy"), pod("kube-system", "cni"), pod(flux, "kube-dns")}
}

// refuser is a webhook with the rules of the injector's that refuses every pod it is asked about, and lets nothing through
// when it fails. asked returns whom it was asked about.
func refuser(ctx context.Context) (asked func() []string) {
	GinkgoHelper()
	var mu sync.Mutex
	var names []string
	url, bundle := serveWebhook(func(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		mu.Lock()
		defer mu.Unlock()
		names = append(names, string(req.UID))
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{Message: "refused by the story"}}
	})
	var ours admissionregistrationv1.MutatingWebhookConfiguration
	Expect(admin().Get(ctx, types.NamespacedName{Name: "holdfast-injector"}, &ours)).To(Succeed())
	refuses := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "refuser"}, Webhooks: ours.Webhooks}
	for i := range refuses.Webhooks {
		refuses.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}
		refuses.Webhooks[i].FailurePolicy = ptr.To(admissionregistrationv1.Fail)
	}
	install(ctx, refuses, "flux-install", func(_ *corev1.Pod, err error) bool { return err != nil })
	mu.Lock()
	defer mu.Unlock()
	names = nil
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return names
	}
}

// install makes a webhook configuration and waits until the API server heeds it, which a dry run of a pod shows.
func install(ctx context.Context, c *admissionregistrationv1.MutatingWebhookConfiguration, folder string, heeded func(*corev1.Pod, error) bool) {
	GinkgoHelper()
	Expect(admin().Create(ctx, c)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin().Delete(ctx, c))).To(Succeed()) })
	probe := namespace(ctx, "probe-of-"+c.Name, nil)
	pod := golden(ctx, folder, probe)
	Eventually(func() bool {
		got := pod.DeepCopy()
		return heeded(got, admin().Create(ctx, got, client.DryRunAll))
	}, "30s", "100ms").Should(BeTrue())
}

// serveWebhook answers an API server over TLS until the story is over.
func serveWebhook(answer func(*admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse) (url string, bundle []byte) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(w, "no AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = answer(review.Request)
		review.Response.UID, review.Request = review.Request.UID, nil
		_ = json.NewEncoder(w).Encode(review)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	DeferCleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
