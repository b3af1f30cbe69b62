package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// The calls of the story: fifty a second, half of them at each replica, for a minute, by an API server that learns of a
// changed configuration five seconds late.
const (
	callEvery = 40 * time.Millisecond
	callFor   = time.Minute
	behind    = 5 * time.Second
)

var _ = Describe("The injector's certificates", Label("install"), func() {
	It("B3: change in every way while both replicas are called fifty times a second, and no call fails", SpecTimeout(4*time.Minute), func(ctx SpecContext) {
		injecting(ctx)
		pids := replicaPIDs()
		pod := golden(ctx, "flux-install", namespace(ctx, "install-certificates", nil))
		first := served(0)

		calls := startCalls(ctx, pod)
		begin := time.Now()
		for _, step := range []struct {
			at   time.Duration
			what string
			do   func()
		}{
			{5 * time.Second, "the Secret gets another authority", func() { writeSecret(ctx, authority()) }},
			{20 * time.Second, "its key is cut off", func() {
				data := secretNow(ctx).Data
				data[corev1.TLSPrivateKeyKey] = data[corev1.TLSPrivateKeyKey][:700]
				writeSecret(ctx, data)
			}},
			{35 * time.Second, "the Secret is deleted", func() { Expect(admin().Delete(ctx, secretNow(ctx))).To(Succeed()) }},
			{callFor, "the calls end", func() {}},
		} {
			Eventually(func() time.Duration { return time.Since(begin) }, callFor+5*time.Second, "50ms").Should(BeNumerically(">=", step.at))
			By(step.what)
			step.do()
		}
		calls.end()
		Expect(calls.failures()).To(BeEmpty())
		Expect(calls.direct.Load()).To(BeNumerically(">", 40*int64(callFor/time.Second)), "it was called as often as the story says")
		AddReportEntry("calls", fmt.Sprintf("%d calls, and %d pods by way of the API server", calls.direct.Load(), calls.pods.Load()))

		By("and it did change, in processes that were not restarted")
		Expect(replicaPIDs()).To(Equal(pids))
		Expect(secretNow(ctx).Data[corev1.TLSPrivateKeyKey]).NotTo(BeEmpty(), "the Secret is back")
		for i := range 2 {
			now := served(i)
			Expect(now.AuthorityKeyId).NotTo(Equal(first.AuthorityKeyId))
			Expect(now.AuthorityKeyId).To(Equal(authorityNow(ctx).SubjectKeyId), "the newest authority signed it")
		}
		Expect(injectorCount(ctx, `holdfast_injector_certificate_changes_total{what="Certificate"}`)).To(BeNumerically(">=", 2*3))
	})

	It("put back a caBundle that was emptied or replaced, and leave the rest of the configuration to who applies it", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		pod := golden(ctx, "flux-install", namespace(ctx, "install-bundle", nil))
		stranger := string(authority()[corev1.TLSCertKey])
		for _, patch := range []string{
			`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`,
			fmt.Sprintf(`[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":%s}]`, text([]byte(stranger))),
		} {
			kubectl(ctx, cluster.Admin, "patch", "mutatingwebhookconfiguration", "holdfast-injector", "--type=json", "-p", patch)
			Eventually(func() bool { return holder(made(ctx, pod, client.DryRunAll)) != nil }, "30s", "100ms").Should(BeTrue())
		}
		before := configuration(ctx)
		kubectl(ctx, cluster.Admin, "patch", "mutatingwebhookconfiguration", "holdfast-injector", "--type=json", "-p",
			`[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":7}]`)
		kubectl(ctx, cluster.Admin, "patch", "mutatingwebhookconfiguration", "holdfast-injector", "--type=json", "-p",
			`[{"op":"remove","path":"/webhooks/0/clientConfig/caBundle"}]`)
		Eventually(func() []byte { return configuration(ctx).Webhooks[0].ClientConfig.CABundle }, "30s", "100ms").ShouldNot(BeEmpty())
		Expect(*configuration(ctx).Webhooks[0].TimeoutSeconds).To(BeEquivalentTo(7))
		for _, entry := range before.ManagedFields {
			if entry.Manager == "holdfast-injector" {
				Expect(string(entry.FieldsV1.GetRawBytes())).To(Equal(`{"f:webhooks":{"k:{\"name\":\"inject.holdfast.dev\"}":{".":{},"f:clientConfig":{"f:caBundle":{}},"f:name":{}}}}`))
			}
		}
	})

	It("outlive replicas that are restarted one after the other: every pod gets its holder", storyBound, func(ctx SpecContext) {
		injecting(ctx)
		pod := golden(ctx, "flux-install", namespace(ctx, "install-rolling", nil))
		calls := &callers{ctx: ctx}
		calls.through(pod)
		for range 2 {
			for i := range 2 {
				Expect(world.Restart(ctx, cluster.InjectorReplica(i))).To(Succeed())
				Expect(world.StartInjector(ctx, 2)).To(Succeed()) // waits until the Service leads there again
			}
		}
		calls.end()
		Expect(calls.failures()).To(BeEmpty())
		Expect(calls.pods.Load()).To(BeNumerically(">", 20))
	})
})

// text is JSON for bytes, as the API has them.
func text(b []byte) string {
	GinkgoHelper()
	t, err := json.Marshal(b)
	Expect(err).NotTo(HaveOccurred())
	return string(t)
}

func replicaPIDs() []int {
	pids := world.PIDs()
	return []int{pids[cluster.InjectorReplica(0)], pids[cluster.InjectorReplica(1)]}
}

var injectorSecret = types.NamespacedName{Namespace: cluster.InjectorNamespace, Name: "holdfast-injector"}

func secretNow(ctx context.Context) *corev1.Secret {
	GinkgoHelper()
	var s corev1.Secret
	Expect(admin().Get(ctx, injectorSecret, &s)).To(Succeed())
	return &s
}

// writeSecret puts data into the Secret, as somebody would who does not know of anybody else.
func writeSecret(ctx context.Context, data map[string][]byte) {
	GinkgoHelper()
	Eventually(func() error {
		s := secretNow(ctx)
		s.Data = data
		return admin().Update(ctx, s)
	}, "10s").Should(Succeed())
}

// authorityNow is the certificate in the Secret.
func authorityNow(ctx context.Context) *x509.Certificate {
	GinkgoHelper()
	block, _ := pem.Decode(secretNow(ctx).Data[corev1.TLSCertKey])
	Expect(block).NotTo(BeNil())
	cert, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return cert
}

// authority is one that somebody else made.
func authority() map[string][]byte {
	GinkgoHelper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "somebody else's"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(1000 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	Expect(err).NotTo(HaveOccurred())
	return map[string][]byte{
		corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}
}

// served is the certificate a replica serves.
func served(i int) *x509.Certificate {
	GinkgoHelper()
	conn, err := tls.Dial("tcp", world.InjectorURL(i)[len("https://"):len(world.InjectorURL(i))-len("/mutate-pod")],
		&tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whom to trust is what is asked
	Expect(err).NotTo(HaveOccurred())
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

func configuration(ctx context.Context) *admissionregistrationv1.MutatingWebhookConfiguration {
	GinkgoHelper()
	var c admissionregistrationv1.MutatingWebhookConfiguration
	Expect(admin().Get(ctx, types.NamespacedName{Name: "holdfast-injector"}, &c)).To(Succeed())
	return &c
}

// callers call until they are ended, and keep what failed.
type callers struct {
	ctx          context.Context
	running      sync.WaitGroup
	stop         []context.CancelFunc
	direct, pods atomic.Int64

	mu     sync.Mutex
	failed map[string]int
	views  []view // caBundles as they were read, oldest first
}

type view struct {
	at     time.Time
	bundle []byte
}

// startCalls calls each replica directly, with the caBundle of some seconds ago, and makes pods by way of the API server.
func startCalls(ctx context.Context, pod *corev1.Pod) *callers {
	GinkgoHelper()
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "of-the-story", Namespace: pod.Namespace, Operation: admissionv1.Create,
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, Object: runtime.RawExtension{Object: pod},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	c := &callers{ctx: ctx}
	c.views = []view{{time.Now().Add(-behind), configuration(ctx).Webhooks[0].ClientConfig.CABundle}}
	a := admin()
	c.every(100*time.Millisecond, func(ctx context.Context) error {
		var now admissionregistrationv1.MutatingWebhookConfiguration
		if err := a.Get(ctx, types.NamespacedName{Name: "holdfast-injector"}, &now); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.views = append(c.views, view{time.Now(), now.Webhooks[0].ClientConfig.CABundle})
		return nil
	})
	for i := range 2 {
		c.every(callEvery, func(ctx context.Context) error {
			c.direct.Add(1)
			return call(ctx, world.InjectorURL(i), c.bundle(), body)
		})
	}
	c.through(pod)
	return c
}

// through makes pods by way of the API server; each must have its holder.
func (c *callers) through(pod *corev1.Pod) {
	GinkgoHelper()
	a := admin()
	c.every(200*time.Millisecond, func(ctx context.Context) error {
		got := pod.DeepCopy()
		if err := a.Create(ctx, got, client.DryRunAll); err != nil {
			return err
		}
		c.pods.Add(1)
		if len(got.Spec.InitContainers) == 0 {
			return errors.New("a pod was made without a holder")
		}
		return nil
	})
}

// every does something at intervals. One that takes longer makes the next late, not the others.
func (c *callers) every(interval time.Duration, do func(context.Context) error) {
	ctx, stop := context.WithCancel(c.ctx)
	c.stop = append(c.stop, stop)
	c.running.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		var calls sync.WaitGroup
		defer calls.Wait()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				calls.Go(func() {
					if err := do(c.ctx); err != nil {
						c.mu.Lock()
						defer c.mu.Unlock()
						if c.failed == nil {
							c.failed = map[string]int{}
						}
						c.failed[err.Error()]++
					}
				})
			}
		}
	})
}

// bundle is what an API server that is behind trusts.
func (c *callers) bundle() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	then := time.Now().Add(-behind)
	for _, v := range slices.Backward(c.views) {
		if !v.at.After(then) {
			return v.bundle
		}
	}
	return c.views[0].bundle
}

// call is one call over a connection of its own.
func call(ctx context.Context, url string, bundle, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&review); err != nil {
		return fmt.Errorf("status %s: %w", resp.Status, err)
	}
	if review.Response == nil || !review.Response.Allowed || len(review.Response.Patch) == 0 {
		return fmt.Errorf("answered %+v", review.Response)
	}
	return nil
}

func (c *callers) end() {
	for _, stop := range c.stop {
		stop()
	}
	c.running.Wait()
}

// failures are the errors there were, with how often.
func (c *callers) failures() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, e := range slices.Sorted(maps.Keys(c.failed)) {
		all = append(all, fmt.Sprintf("%d times: %s", c.failed[e], e))
	}
	return all
}
