package cluster

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Users of the API server, each with a certificate of its own. Team leads (alice, bob) are admin in the namespaces that
// CreateNamespace makes and may write Flux's objects anywhere; the deployer may edit in those namespaces.
const (
	Admin         = "admin"
	Alice         = "alice@example.org"
	Bob           = "bob@example.org"
	Deployer      = "system:serviceaccount:team-a:deployer"
	HolderUser    = "system:serviceaccount:flux-system:holdfast-holder"
	GitmirrorUser = "system:serviceaccount:holdfast-system:gitmirror"

	sourceControllerUser    = "system:serviceaccount:flux-system:source-controller"
	kustomizeControllerUser = "system:serviceaccount:flux-system:kustomize-controller"
	controllerManagerUser   = "system:kube-controller-manager"
)

// Users lists who has a kubeconfig that a person may want.
func Users() []string { return []string{Admin, Alice, Bob, Deployer, HolderUser, GitmirrorUser} }

// Namespaces of the controllers.
const (
	FluxNamespace     = "flux-system"
	HoldfastNamespace = "holdfast-system"
)

// groups are the groups a user's certificate claims; those of a service account are what its token would give.
func groups(user string) []string {
	if user == Admin {
		return []string{"system:masters"}
	}
	if rest, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
	}
	return nil
}

// writeKubeconfigs writes one self-contained kubeconfig for each user, and the audit webhook's.
func (w *World) writeKubeconfigs() error {
	for _, user := range append(Users(), sourceControllerUser, kustomizeControllerUser, controllerManagerUser, schedulerUser) {
		client, err := w.pki.cluster.client(user, groups(user)...)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(w.Kubeconfig(user), w.apiURL(), user, w.pki.cluster.pem, client); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
		}
	}
	client, err := w.pki.audit.client("kube-apiserver")
	if err != nil {
		return err
	}
	url := "https://" + loopback(w.ports.gitmirrorAudit) + auditPath
	return writeKubeconfig(w.path("audit-webhook.kubeconfig"), url, "kube-apiserver", w.pki.audit.pem, client)
}

func writeKubeconfig(path, server, user string, ca []byte, client pair) error {
	const name = "holdfast-test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	c.CurrentContext = name
	return clientcmd.WriteToFile(*c, path)
}

// Kubeconfig is the path of user's kubeconfig.
func (w *World) Kubeconfig(user string) string {
	return filepath.Join(w.path("kubeconfig"), strings.ReplaceAll(user, ":", "."))
}

// RESTConfig is a client configuration for user, without the client-side rate limit. It panics for a user this world
// does not know, which only a mistake in a test can cause.
func (w *World) RESTConfig(user string) *rest.Config {
	c, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig(user))
	if err != nil {
		panic(fmt.Sprintf("kubeconfig of %s: %v", user, err))
	}
	c.QPS = -1
	return c
}

// environment is what programs of the world get: nothing of this machine's user but PATH.
func (w *World) environment(more ...string) []string {
	env := map[string]string{"PATH": os.Getenv("PATH"), "HOME": w.path("home"), "TMPDIR": w.path("tmp")}
	for _, kv := range more {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}
