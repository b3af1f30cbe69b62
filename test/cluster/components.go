package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The components of a world: names of processes, of their log files, and arguments of Restart, Kill and LogTail.
const (
	Etcd                = "etcd"
	APIServer           = "kube-apiserver"
	ControllerManager   = "kube-controller-manager"
	SourceController    = "source-controller"
	KustomizeController = "kustomize-controller"
	Holder              = "holder"
	Gitmirror           = "gitmirror"
)

// auditPath is where gitmirror takes the audit webhook's events.
const auditPath = "/audit"

// component is how one program of the world is run. The lists of arguments are here and nowhere else.
type component struct {
	name    string
	program string               // what it runs, when that has another name
	pod     string               // whose host name and namespace it sees; "": this machine's
	attr    *syscall.SysProcAttr // nil: as pod says
	args    []string
	more    []string                    // after args and the world's own; RestartWith changes them
	env     []string                    // besides PATH, HOME and TMPDIR
	ready   func(context.Context) error // nil error: it serves
	grace   time.Duration               // from SIGTERM to SIGKILL
}

func (w *World) etcd() component {
	client, peer := "http://"+loopback(w.ports.etcdClient), "http://"+loopback(w.ports.etcdPeer)
	return component{name: Etcd, grace: time.Second, ready: w.answers(client + "/health"), args: []string{
		"--name=world", "--data-dir=" + w.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=world=" + peer,
	}}
}

// apiServer gets little time to end: it waits for its watchers, and nobody needs what it would still do.
func (w *World) apiServer() component {
	return component{name: APIServer, grace: time.Second, ready: w.answers(w.apiURL() + "/readyz"), args: []string{
		"--etcd-servers=http://" + loopback(w.ports.etcdClient),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", w.ports.apiServer),
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/24",
		"--tls-cert-file=" + w.pki.file("apiserver.crt"), "--tls-private-key-file=" + w.pki.file("apiserver.key"),
		"--client-ca-file=" + w.pki.file("ca.crt"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + w.pki.file("sa.pub"), "--service-account-signing-key-file=" + w.pki.file("sa.key"),
		"--audit-policy-file=" + filepath.Join(w.root, "docs", "audit-policy.yaml"), "--audit-webhook-config-file=" + w.path("audit-webhook.kubeconfig"),
		"--audit-webhook-mode=batch", "--audit-webhook-batch-max-wait=100ms", "--audit-webhook-batch-max-size=100",
		// Four retries, each 1.5 times as late as the one before: a receiver may be away for about four seconds.
		"--audit-webhook-initial-backoff=500ms",
	}}
}

func (w *World) controllerManager() component {
	kubeconfig := w.Kubeconfig(controllerManagerUser)
	controllers := []string{
		"namespace-controller", "garbage-collector-controller", "serviceaccount-controller", "serviceaccount-token-controller",
		"root-ca-certificate-publisher-controller", "clusterrole-aggregation-controller", "deployment-controller", "replicaset-controller",
	}
	ready := w.answers(fmt.Sprintf("https://%s/healthz", loopback(w.ports.controllerManager)))
	return component{name: ControllerManager, grace: 2 * time.Second, ready: ready, args: []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup=true", "--leader-elect=false", "--use-service-account-credentials=true",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", w.ports.controllerManager),
		"--tls-cert-file=" + w.pki.file("controller-manager.crt"), "--tls-private-key-file=" + w.pki.file("controller-manager.key"),
		"--service-account-private-key-file=" + w.pki.file("sa.key"),
		"--root-ca-file=" + w.pki.file("ca.crt"), "--client-ca-file=" + w.pki.file("ca.crt"),
		"--controllers=" + strings.Join(controllers, ","),
	}}
}

// flux is a controller of Flux; args are its own, after what both take.
func (w *World) flux(name, user string, metrics, health int, args ...string) component {
	return component{name: name, grace: 5 * time.Second, ready: w.answers("http://" + loopback(health) + "/readyz"),
		env: []string{"KUBECONFIG=" + w.Kubeconfig(user), "RUNTIME_NAMESPACE=" + FluxNamespace},
		args: append([]string{
			"--watch-all-namespaces=true", "--log-level=info", "--log-encoding=json", "--enable-leader-election=false", "--events-addr=",
			"--metrics-addr=" + loopback(metrics), "--health-addr=" + loopback(health),
		}, args...)}
}

func (w *World) sourceController() component {
	storage := loopback(w.ports.sourceStorage)
	return w.flux(SourceController, sourceControllerUser, w.ports.sourceMetrics, w.ports.sourceHealth,
		"--storage-path="+w.path("artifacts"), "--storage-addr="+storage, "--storage-adv-addr="+storage)
}

func (w *World) kustomizeController() component {
	return w.flux(KustomizeController, kustomizeControllerUser, w.ports.kustomizeMetrics, w.ports.kustomizeHealth, "--no-remote-bases=true")
}

func (w *World) holder(name string, status int, extra []string) component {
	return component{name: name, grace: 10 * time.Second, ready: w.answers("http://" + loopback(status) + "/readyz"), args: append([]string{
		"--kubeconfig=" + w.Kubeconfig(HolderUser),
		"--metrics-bind-address=" + loopback(status),
	}, extra...)}
}

func (w *World) gitmirror(extra []string) component {
	return component{name: Gitmirror, grace: 10 * time.Second, ready: dials(w.ports.gitmirrorAudit), args: append([]string{
		"--kubeconfig=" + w.Kubeconfig(GitmirrorUser),
		"--data-dir=" + w.path("gitmirror"),
		"--audit-bind-address=" + loopback(w.ports.gitmirrorAudit),
		"--audit-tls-cert-file=" + w.pki.file("audit.crt"), "--audit-tls-key-file=" + w.pki.file("audit.key"),
		"--audit-client-ca-file=" + w.pki.file("audit-ca.crt"),
		"--metrics-bind-address=" + loopback(w.ports.gitmirrorMetrics),
		"--poll-interval=1s",
	}, extra...)}
}

// answers is ready once a GET of url is answered with 200. HTTPS is asked as the administrator.
func (w *World) answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("GET %s: %s", url, resp.Status)
		}
		return nil
	}
}

// dials is ready once the port takes a connection.
func dials(port int) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", loopback(port))
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
