package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
)

// TestWorldStartsAndStops takes one commit through the real Flux as a person would, restarts and kills components, and
// looks for what is left afterwards.
func TestWorldStartsAndStops(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	g := NewWithT(t)

	w, err := Start(ctx, Options{Out: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	stopped := false
	defer func() {
		if !stopped {
			_ = w.Stop()
		}
	}()
	for _, p := range w.Timings() {
		t.Logf("%-24s %5.1fs", p.Name, p.Took.Seconds())
	}

	t.Log("Flux applies a commit from the Git server, with a password")
	g.Expect(w.Git.AddRepo(ctx, "app", map[string]string{"team-a/cm.yaml": configMap("one")})).To(Succeed())
	admin, err := w.Client(Admin)
	g.Expect(err).NotTo(HaveOccurred())
	for _, o := range fluxObjects(w) {
		g.Expect(admin.Create(ctx, o)).To(Succeed())
	}
	g.Eventually(applied(ctx, admin)).WithTimeout(time.Minute).Should(Equal("one"), "two controllers have to see their objects and fetch")

	t.Log("the API server tells the audit receiver who did what, and no secrets")
	audit, endReceiver := receiveAudit(t, w)
	_, err = w.Kubectl(ctx, Alice, "-n", "team-a", "annotate", "configmap", "app", "note=by-alice")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = w.Kubectl(ctx, Bob, "-n", "team-a", "create", "secret", "generic", "plain", "--from-literal=key=not-for-the-audit-log")
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(audit.String).WithTimeout(30*time.Second).Should(And(
		MatchRegexp(`"level":"RequestResponse".*"verb":"patch","user":{"username":"alice@example.org".*"responseObject":.*"resourceVersion":"\d+"`),
		MatchRegexp(`"level":"Metadata".*"verb":"create","user":{"username":"bob@example.org".*"resource":"secrets"`),
	), "events are sent in batches")
	g.Expect(audit.String()).NotTo(ContainSubstring(base64.StdEncoding.EncodeToString([]byte("not-for-the-audit-log"))))
	g.Expect(audit.String()).NotTo(ContainSubstring("not-for-the-audit-log"))

	t.Log("people may do what they may do, and no more")
	out, err := w.Kubectl(ctx, Alice, "-n", "team-a", "get", "configmap", "app", "-o", "jsonpath={.data.word}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("one"))
	_, err = w.Kubectl(ctx, Alice, "-n", "flux-system", "get", "secrets")
	g.Expect(err).To(MatchError(ContainSubstring("forbidden")))
	_, err = w.Kubectl(ctx, Alice, "-n", "flux-system", "patch", "kustomization", "app", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	g.Expect(err).NotTo(HaveOccurred())
	out, err = w.Kubectl(ctx, Deployer, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal(Deployer))

	t.Log("a killed controller comes back and goes on")
	g.Expect(w.Kill(KustomizeController)).To(Succeed())
	g.Expect(w.Running(KustomizeController)).To(BeFalse())
	g.Expect(w.Revive(ctx, KustomizeController)).To(Succeed())
	g.Expect(w.Restart(ctx, SourceController)).To(Succeed())
	_, err = w.Git.Commit(ctx, "app", "main", gitserver.Author{Name: "Bob", Email: Bob}, "Say two", map[string]string{"team-a/cm.yaml": configMap("two")})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(applied(ctx, admin)).WithTimeout(time.Minute).Should(Equal("two"), "the source is polled every second")
	g.Expect(strings.TrimSpace(w.LogTail(KustomizeController))).NotTo(BeEmpty())

	t.Log("the programs of the checkout run beside them, and again after a kill")
	endReceiver()
	g.Expect(w.StartGitmirror(ctx)).To(Succeed())
	g.Expect(w.StartHolder(ctx)).To(Succeed())
	g.Expect(w.StartHolder(ctx)).To(MatchError(ContainSubstring("already running")))
	g.Expect(w.StopHolder(false)).To(Succeed())
	g.Expect(w.StopHolder(false)).To(MatchError(ContainSubstring("not running")))
	g.Expect(w.StartHolder(ctx)).To(Succeed())

	t.Log("nothing is left")
	pids := w.PIDs()
	g.Expect(pids).To(HaveLen(7))
	begin := time.Now()
	g.Expect(w.Stop()).To(Succeed())
	stopped = true
	t.Logf("stopped in %.1fs", time.Since(begin).Seconds())
	for name, pid := range pids {
		g.Expect(syscall.Kill(pid, 0)).To(MatchError(syscall.ESRCH), name)
	}
	if os.Getenv("KEEP") != "1" {
		g.Expect(w.Dir).NotTo(BeADirectory())
	}
}

// fluxObjects are a source with its password and a Kustomization of it.
func fluxObjects(w *World) []client.Object {
	at := metav1.ObjectMeta{Namespace: FluxNamespace, Name: "app"}
	return []client.Object{
		&corev1.Secret{ObjectMeta: at, StringData: map[string]string{"username": GitFlux, "password": w.Git.Password(GitFlux)}},
		&sourcev1.GitRepository{ObjectMeta: at, Spec: sourcev1.GitRepositorySpec{
			URL: w.Git.URL("app"), Interval: metav1.Duration{Duration: time.Second}, SecretRef: &meta.LocalObjectReference{Name: "app"},
			Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		}},
		&kustomizev1.Kustomization{ObjectMeta: at, Spec: kustomizev1.KustomizationSpec{
			Interval: metav1.Duration{Duration: time.Hour}, Path: "./team-a", Prune: true,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "app"},
		}},
	}
}

func configMap(word string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n  namespace: team-a\ndata:\n  word: " + word + "\n"
}

// applied reads what Flux has put into the
func applied(ctx context.Context, c client.Client) func() (string, error) {
	return func() (string, error) {
		cm := &corev1.ConfigMap{}
		err := c.Get(ctx, client.ObjectKey{Namespace: "team-a", Name: "app"}, cm)
		return cm.Data["word"], client.IgnoreNotFound(err)
	}
}

// receiveAudit stands in for gitmirror: it takes audit events, one a line, only from a client with a certificate.
func receiveAudit(t *testing.T, w *World) (events *output, end func()) {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(w.pki.file("audit.crt"), w.pki.file("audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(w.pki.audit.cert)
	l, err := tls.Listen("tcp", loopback(w.ports.gitmirrorAudit), &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	events = &output{}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var list struct{ Items []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Errorf("audit events: %v", err)
		}
		for _, e := range list.Items {
			_, _ = events.Write(append(e, '\n'))
		}
	})}
	go func() { _ = server.Serve(l) }()
	end = func() { _ = server.Close() }
	t.Cleanup(end)
	return events, end
}

// output collects text from any goroutine.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func TestAWorldThatCannotStartSaysWhichComponentAndWhy(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("KEEP", "")
	o := Options{WithoutFlux: true, Out: t.Output(), Args: map[string][]string{APIServer: {"--no-such-flag"}}}
	w, err := Start(t.Context(), o)
	if err == nil {
		t.Fatal("started", w.Stop())
	}
	for _, want := range []string{"kube-apiserver ended instead of becoming ready", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "holdfast-world-*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestAPortThatIsTakenMakesItTryOthersAndThenGiveUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out := &output{}
	url := "http://" + l.Addr().String()
	o := Options{WithoutFlux: true, Out: out, Args: map[string][]string{Etcd: {"--listen-client-urls=" + url}}}
	if w, err := Start(t.Context(), o); err == nil || !portTaken(err) {
		t.Fatalf("got %v, %v", w, err)
	}
	if got := strings.Count(out.String(), "starting again on other ports"); got != startTries-1 {
		t.Errorf("tried again %d times:\n%s", got, out)
	}
}

func TestAKeptWorldLeavesItsFolder(t *testing.T) {
	t.Setenv("KEEP", "1")
	t.Setenv("TMPDIR", t.TempDir())
	out := &output{}
	w, err := Start(t.Context(), Options{WithoutFlux: true, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(w.LogDir(), APIServer+".log")); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "kept: "+w.Dir) {
		t.Errorf("said:\n%s", out)
	}
}
