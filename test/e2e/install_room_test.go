package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	fluxs = "cpu=100m memory=64Mi / cpu=1 memory=1Gi" // what Flux gives kustomize-controller
	small = "cpu=100m memory=16Mi / cpu=200m memory=128Mi"
)

var _ = Describe("A pod of a controller in a namespace with limits", Label("install"), func() {
	It("is made under every LimitRange and quota that admits it alone, with a holder where one fits", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		for i, row := range []struct {
			name   string
			limit  func(ctx context.Context, namespace string)
			pod    string
			holder string // its resources; "none": there is no holder
			why    string // in the Event, where there is none
		}{
			{"B7: each container must request more than the holder does", ranges(each, corev1.LimitRangeItem{Min: amounts("cpu=50m memory=64Mi")}), fluxs,
				"cpu=50m memory=64Mi / cpu=1 memory=512Mi", ""},
			{"B7: a container's limit may be ten times its request", ranges(each, corev1.LimitRangeItem{MaxLimitRequestRatio: amounts("cpu=10")}), fluxs,
				"cpu=100m memory=64Mi / cpu=1 memory=512Mi", ""},
			{"B7: each container may have less than the holder", ranges(each, corev1.LimitRangeItem{Max: amounts("cpu=500m memory=256Mi")}), small,
				"cpu=10m memory=64Mi / cpu=500m memory=256Mi", ""},
			{"B7: each container has storage of its node", ranges(each, corev1.LimitRangeItem{Max: amounts("ephemeral-storage=1Gi")}), fluxs,
				"cpu=10m memory=64Mi ephemeral-storage=1Gi / cpu=1 memory=512Mi ephemeral-storage=1Gi", ""},
			{"B7: no container has memory enough for a holder", ranges(each, corev1.LimitRangeItem{Max: amounts("memory=32Mi")}),
				"memory=16Mi / memory=32Mi", "none", "LimitRange all"},
			{"B7: the controller has all that a pod may have", ranges(corev1.LimitTypePod, corev1.LimitRangeItem{Max: amounts("cpu=1 memory=1Gi")}), fluxs,
				"none", "LimitRange all"},
			{"B7: a pod may have what both want, and no more", ranges(corev1.LimitTypePod, corev1.LimitRangeItem{Max: amounts("cpu=2 memory=1536Mi")}), fluxs,
				"cpu=10m memory=64Mi / cpu=1 memory=512Mi", ""},
			{"B7: the controller uses the quota up", quotas("requests.cpu=1 requests.memory=1Gi limits.cpu=1 limits.memory=1Gi"), fluxs, "none", "ResourceQuota all"},
			{"B7: the quota is what both want, and no more", quotas("requests.cpu=110m requests.memory=128Mi limits.cpu=2 limits.memory=1536Mi"), fluxs,
				"cpu=10m memory=64Mi / cpu=1 memory=512Mi", ""},
			{"B7: a holder that asks for something would bring its pod under a quota", quotas("requests.cpu=4 requests.memory=4Gi", corev1.ResourceQuotaScopeNotBestEffort), "/",
				"/", ""},
		} {
			By(row.name)
			plain, here := fmt.Sprintf("install-room-%d-plain", i), fmt.Sprintf("install-room-%d", i)
			plainNamespace(ctx, plain, nil)
			namespace(ctx, here, nil)
			var got *corev1.Pod
			for _, in := range []string{plain, here} {
				row.limit(ctx, in)
				pod := golden(ctx, "flux-install", in)
				pod.Spec.Containers[0].Resources = needs(row.pod)
				got = made(ctx, pod)
			}
			h := holder(got)
			if row.holder == "none" {
				Expect(h).To(BeNil())
				toldOfPod(ctx, got, "HolderMissing")
				Expect(noteOf(ctx, got)).To(ContainSubstring(row.why))
				continue
			}
			Expect(h).NotTo(BeNil())
			Expect(texts(h.Resources)).To(Equal(texts(needs(row.holder))), row.name)
		}
		Expect(reviews(ctx, "NoRoom")).To(BeNumerically("==", 3))
	})
})

const each = corev1.LimitTypeContainer

// ranges makes a LimitRange with one item.
func ranges(kind corev1.LimitType, item corev1.LimitRangeItem) func(context.Context, string) {
	return func(ctx context.Context, namespace string) {
		GinkgoHelper()
		item.Type = kind
		Expect(admin().Create(ctx, &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}},
		})).To(Succeed())
	}
}

// quotas makes a quota of which nothing is used.
func quotas(hard string, scopes ...corev1.ResourceQuotaScope) func(context.Context, string) {
	return func(ctx context.Context, namespace string) {
		GinkgoHelper()
		quota(ctx, namespace, amounts(hard), scopes...)
	}
}

// amounts reads such as "cpu=1 memory=1Gi".
func amounts(text string) corev1.ResourceList {
	var out corev1.ResourceList
	for _, field := range strings.Fields(text) {
		if out == nil {
			out = corev1.ResourceList{}
		}
		name, amount, _ := strings.Cut(field, "=")
		out[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}

// needs reads requests and limits.
func needs(text string) corev1.ResourceRequirements {
	requests, limits, _ := strings.Cut(text, "/")
	return corev1.ResourceRequirements{Requests: amounts(requests), Limits: amounts(limits)}
}

// texts are requests and limits as they are written.
func texts(r corev1.ResourceRequirements) map[string]string {
	out := map[string]string{}
	for name, q := range r.Requests {
		out["request of "+string(name)] = q.String()
	}
	for name, q := range r.Limits {
		out["limit of "+string(name)] = q.String()
	}
	return out
}

// noteOf is what the injector's Event about a pod says.
func noteOf(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	var all eventsv1.EventList
	Expect(admin().List(ctx, &all, client.InNamespace(pod.Namespace))).To(Succeed())
	for _, e := range all.Items {
		if e.Regarding.UID == pod.UID {
			return e.Note
		}
	}
	return ""
}
