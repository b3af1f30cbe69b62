package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// The commands of status.md want a kubelet, and are run on a real node.
var _ = Describe("The page about", Label("docs"), func() {
	It("audit makes certificates that gitmirror and the API server believe each other by", storyBound, func(ctx SpecContext) {
		run := blocks("audit.md")
		Expect(run).To(HaveLen(2))
		team(ctx, scene.Options{Name: "docs-audit"}) // and with it a KubeProvider
		Expect(shell(ctx, run[0])).To(MatchRegexp(`(?m)^NAME +READY +AUDIT `))

		dir := GinkgoT().TempDir()
		DeferCleanup(func(ctx SpecContext) {
			kubectl(ctx, cluster.Admin, "-n", cluster.HoldfastNamespace, "delete", "secret", "holdfast-gitmirror-audit")
		})
		shellIn(ctx, dir, run[1])
		var secret corev1.Secret
		Expect(admin().Get(ctx, types.NamespacedName{Namespace: cluster.HoldfastNamespace, Name: "holdfast-gitmirror-audit"}, &secret)).To(Succeed())
		own, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
		Expect(err).NotTo(HaveOccurred())
		clients := x509.NewCertPool()
		Expect(clients.AppendCertsFromPEM(secret.Data["ca.crt"])).To(BeTrue())
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // as gitmirror's is
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
		server.StartTLS()
		DeferCleanup(server.Close)

		authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		Expect(err).NotTo(HaveOccurred())
		servers := x509.NewCertPool()
		Expect(servers.AppendCertsFromPEM(authority)).To(BeTrue())
		client, err := tls.LoadX509KeyPair(filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key"))
		Expect(err).NotTo(HaveOccurred())
		for _, name := range []string{"10.96.0.40", "holdfast-gitmirror." + cluster.HoldfastNamespace + ".svc"} {
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: servers, ServerName: name, Certificates: []tls.Certificate{client}}, DisableKeepAlives: true}
			resp, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(server.URL)
			Expect(err).NotTo(HaveOccurred(), name)
			Expect(resp.Body.Close()).To(Succeed())
		}
	})

	It("events lists what a holder and an injector told", storyBound, func(ctx SpecContext) {
		run := blocks("events.md")
		Expect(run).To(HaveLen(2))

		t := team(ctx, scene.Options{Name: "team-shop"})
		_, err := t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitEvent(ctx, v1alpha1.ReasonApplied, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(shell(ctx, run[0])).To(MatchRegexp(`Normal +Applied +fluxtrigger/web `))

		By("of a pod without a holder, as in the namespace of Flux")
		here := namespace(ctx, "install-listed", nil)
		pod := made(ctx, golden(ctx, "flux-install", here)) // before there is an injector
		injecting(ctx)
		toldOfPod(ctx, pod, "HolderMissing")
		Expect(run[1]).To(ContainSubstring("-n flux-system "))
		Expect(shell(ctx, strings.Replace(run[1], "-n flux-system ", "-n "+here+" ", 1))).To(MatchRegexp(`Warning +HolderMissing +pod/` + pod.Name + ` `))
	})
})
