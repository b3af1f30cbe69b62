package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// The golden pods that come from an install of each flavour, with nothing changed by anybody.
var (
	fluxFlavours = []string{
		"flux-install", "flux-install-with-a-registry-that-has-a-port-and-a-digest",
		"kustomize-controller-from-its-own-repository-under-the-default-account",
		"the-flux2-chart-with-its-own-labels-and-one-namespace", "Flux-Operator-with-an-alpine-image-and-gates",
		"Flux-Operator-with-a-distroless-image", "the-main-controller-beside-shards-of-Flux-Operator", "a-shard-of-Flux-Operator",
		"AKS-with-the-API-server-by-name",
	}
	argoFlavours = []string{
		"argo-cd-install-as-a-StatefulSet", "argo-cd-install-as-a-Deployment", "argo-helm", "argo-helm-under-another-name",
		"argocd-operator", "OpenShift-GitOps",
	}
	otherControllers = []string{
		"source-controller-is-not-a-controller-of-appliers", "helm-controller-is-not-a-controller-of-appliers",
		"notification-controller-is-not-a-controller-of-appliers", "image-automation-controller-is-not-a-controller-of-appliers",
		"argocd-server-is-not-a-controller-of-appliers", "argocd-applicationset-controller-is-not-a-controller-of-appliers",
	}
)

// injecting starts two replicas of the injector until the story is over; args are further flags.
func injecting(ctx context.Context, args ...string) {
	GinkgoHelper()
	Expect(world.StartInjector(ctx, 2, args...)).To(Succeed())
	DeferCleanup(func() {
		if CurrentSpecReport().Failed() {
			for i := range 2 {
				AddReportEntry(cluster.InjectorReplica(i), world.LogTail(cluster.InjectorReplica(i)))
			}
		}
		Expect(world.StopInjector(true)).To(Succeed())
	})
}

func admin() client.Client {
	GinkgoHelper()
	c, err := world.Client(cluster.Admin)
	Expect(err).NotTo(HaveOccurred())
	return c
}

// namespace makes a namespace with labels, and one of Holdfast's that lets holders in; it goes with its pods.
func namespace(ctx context.Context, name string, labels map[string]string) string {
	GinkgoHelper()
	all := map[string]string{v1alpha1.InjectLabel: v1alpha1.InjectEnabled}
	for k, v := range labels {
		all[k] = v
	}
	plainNamespace(ctx, name, all)
	return name
}

func plainNamespace(ctx context.Context, name string, labels map[string]string) {
	GinkgoHelper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	Expect(admin().Create(ctx, n)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(admin().Delete(ctx, n))).To(Succeed()) })
}

// golden is a pod of the injector's own goldens as its ReplicaSet would make it in a namespace: whoever owns it, and what
// the API server adds, is left out. Its ServiceAccount is made.
func golden(ctx context.Context, folder, namespace string) *corev1.Pod {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "injector", "inject", "testdata", folder, "pod.yaml"))
	Expect(err).NotTo(HaveOccurred())
	var pod corev1.Pod
	Expect(yaml.Unmarshal(text, &pod)).To(Succeed())
	pod.Namespace, pod.OwnerReferences, pod.Status = namespace, nil, corev1.PodStatus{}
	if pod.Name != "" { // a StatefulSet's; more than one is made in a namespace here
		pod.GenerateName, pod.Name = pod.Name+"-", ""
	}
	pod.UID, pod.ResourceVersion, pod.CreationTimestamp = "", "", metav1.Time{}
	pod.Spec.NodeName, pod.Spec.DeprecatedServiceAccount = "", ""
	granted := func(name string) bool { return strings.HasPrefix(name, "kube-api-access-") }
	pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return granted(v.Name) })
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = slices.DeleteFunc(list[i].VolumeMounts, func(m corev1.VolumeMount) bool { return granted(m.Name) })
		}
	}
	account(ctx, namespace, pod.Spec.ServiceAccountName)
	return &pod
}

// account makes a ServiceAccount unless it is there, as the default one soon is.
func account(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	if name == "" {
		name = "default"
	}
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := admin().Create(ctx, a); !apierrors.IsAlreadyExists(err) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// made creates the pod, and returns it as the API server has it.
func made(ctx context.Context, pod *corev1.Pod, opts ...client.CreateOption) *corev1.Pod {
	GinkgoHelper()
	got := pod.DeepCopy()
	Expect(admin().Create(ctx, got, opts...)).To(Succeed())
	return got
}

// holder is the holder's container in a pod, which must be the last to start before the controller; nil: there is none.
func holder(pod *corev1.Pod) *corev1.Container {
	GinkgoHelper()
	var found *corev1.Container
	for i, c := range pod.Spec.InitContainers {
		if c.Name == v1alpha1.HolderContainer {
			Expect(found).To(BeNil(), "there are two holders")
			Expect(i).To(Equal(len(pod.Spec.InitContainers)-1), "another container starts after the holder")
			found = &pod.Spec.InitContainers[i]
		}
	}
	return found
}

// eventsOf are the reasons of the injector's Events about a pod.
func eventsOf(ctx context.Context, pod *corev1.Pod) []string {
	GinkgoHelper()
	var all eventsv1.EventList
	Expect(admin().List(ctx, &all, client.InNamespace(pod.Namespace))).To(Succeed())
	var reasons []string
	for _, e := range all.Items {
		if e.Regarding.UID == pod.UID && e.ReportingController == "holdfast-injector" {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// toldOfPod waits at most thirty seconds for an Event about a pod.
func toldOfPod(ctx context.Context, pod *corev1.Pod, reason string) {
	GinkgoHelper()
	Eventually(func() []string { return eventsOf(ctx, pod) }, 30*time.Second, 100*time.Millisecond).Should(ContainElement(reason))
}

// injectorCount is a metric added up over the replicas; series is its name, with its labels if it has any.
func injectorCount(ctx context.Context, series string) float64 {
	GinkgoHelper()
	sum := 0.0
	for i := range 2 {
		text, err := get(ctx, world.InjectorMetricsURL(i))
		Expect(err).NotTo(HaveOccurred())
		for _, m := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(series)+` (\S+)$`).FindAllStringSubmatch(string(text), -1) {
			v, err := strconv.ParseFloat(m[1], 64)
			Expect(err).NotTo(HaveOccurred())
			sum += v
		}
	}
	return sum
}

// reviews is how many calls about kustomize-controllers had this outcome.
func reviews(ctx context.Context, outcome string) float64 {
	GinkgoHelper()
	return injectorCount(ctx, fmt.Sprintf("holdfast_injector_reviews_total{flavour=%q,outcome=%q}", "kustomize-controller", outcome))
}

// podNow is the pod as it is; nil: it is gone, or another has its name.
func podNow(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var got corev1.Pod
	err := admin().Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, &got)
	if apierrors.IsNotFound(err) || err == nil && got.UID != pod.UID {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return &got
}
