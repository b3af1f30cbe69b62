package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// auditEvent is as much of an event of audit.k8s.io/v1 as a story reads.
type auditEvent struct {
	AuditID    string                           `json:"auditID"`
	Stage      string                           `json:"stage"`
	RequestURI string                           `json:"requestURI"`
	Verb       string                           `json:"verb"`
	User       struct{ Username string }        `json:"user"`
	ObjectRef  *struct{ Resource, Name string } `json:"objectRef"`
	Notes      map[string]string                `json:"annotations"`
}

// auditLog is what the API server told of writes to Kustomizations.
type auditLog struct {
	mu     sync.Mutex
	events []auditEvent
}

// audited takes the API server's audit events in gitmirror's place, until the story ends.
func audited(ctx context.Context) *auditLog {
	GinkgoHelper()
	files, err := world.AuditFiles()
	Expect(err).NotTo(HaveOccurred())
	certificate, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
	Expect(err).NotTo(HaveOccurred())
	clients := x509.NewCertPool()
	Expect(clients.AppendCertsFromPEM(files["ca.crt"])).To(BeTrue())

	Expect(world.StopGitmirror(true)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(world.StartGitmirror(ctx)).To(Succeed()) }, NodeTimeout(time.Minute))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", world.AuditAddress())
	Expect(err).NotTo(HaveOccurred())
	log := &auditLog{}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: log, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{certificate}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
	}}
	go func() { _ = server.ServeTLS(l, "", "") }()                // it says that it was closed
	DeferCleanup(func() { Expect(server.Close()).To(Succeed()) }) // before gitmirror is back, which wants the port
	return log
}

func (a *auditLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var list struct{ Items []auditEvent }
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range list.Items {
		if e.ObjectRef != nil && e.ObjectRef.Resource == "kustomizations" && !slices.ContainsFunc(a.events, func(known auditEvent) bool {
			return known.AuditID == e.AuditID && known.Stage == e.Stage // sent again
		}) {
			a.events = append(a.events, e)
		}
	}
}

// annotations are those of a key about the Kustomization of that name, each after who wrote and how. Writes that were only
// tried out are left out.
func (a *auditLog) annotations(name, key string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found []string
	for _, e := range a.events {
		if value, ok := e.Notes[key]; ok && e.ObjectRef.Name == name && !strings.Contains(e.RequestURI, "dryRun=") {
			found = append(found, fmt.Sprintf("%s %s: %s", e.User.Username, e.Verb, value))
		}
	}
	return found
}
