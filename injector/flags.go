package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// settings are what the flags say.
type settings struct {
	policy         string
	namespace      string
	configuration  string
	secret         string
	address        string
	metricsAddress string
	probeAddress   string
	restartMissing bool
	drain          time.Duration
	level          slog.Level
	pod            string
}

// bind defines the flags; controller-runtime adds --kubeconfig.
func (s *settings) bind(fs *flag.FlagSet) {
	fs.StringVar(&s.policy, "policy", "", "file that says what holders are given; it is read again when it changes")
	fs.StringVar(&s.namespace, "namespace", ownNamespace(namespaceFile), "where the injector runs, and keeps its Secret and its Lease")
	fs.StringVar(&s.configuration, "configuration", "holdfast-injector", "MutatingWebhookConfiguration that calls the injector; its caBundle is written here")
	fs.StringVar(&s.secret, "secret", "holdfast-injector", "Secret with the authority that signs the injector's certificates; deleting it makes new ones")
	fs.StringVar(&s.address, "webhook-bind-address", ":9443", "where API servers call, over TLS")
	fs.StringVar(&s.metricsAddress, "metrics-bind-address", ":8080", "where /metrics is served")
	fs.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	fs.BoolVar(&s.restartMissing, "restart-missing", false, "evict pods that should have a holder and have none, one of a workload at a time; otherwise they are reported only")
	fs.DurationVar(&s.drain, "drain", 5*time.Second, "how long calls are answered after a SIGTERM, until API servers call another replica")
	fs.TextVar(&s.level, "log-level", slog.LevelInfo, "least level that is logged: DEBUG, INFO, WARN or ERROR")
	host, _ := os.Hostname() // an error leaves the flag without a default, which check finds
	fs.StringVar(&s.pod, "identity", host, "name of this pod, in Events")
}

// check returns every mistake in the settings.
func (s *settings) check() error {
	var errs []error
	for _, needed := range []struct{ flag, value, hint string }{
		{"policy", s.policy, "give the file that says what holders are given"},
		{"namespace", s.namespace, "say where the injector runs"},
		{"configuration", s.configuration, "name the MutatingWebhookConfiguration"},
		{"secret", s.secret, "name the Secret of the certificates"},
		{"identity", s.pod, "give the name of this pod"},
	} {
		if needed.value == "" {
			errs = append(errs, fmt.Errorf("--%s is empty: %s", needed.flag, needed.hint))
		}
	}
	if s.drain < 0 {
		errs = append(errs, fmt.Errorf("--drain=%s: it cannot be less than nothing", s.drain))
	}
	if _, _, err := s.listen(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// listen is the host and the port of the webhook.
func (s *settings) listen() (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s.address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("--webhook-bind-address=%s: it is no address and port, such as :9443", s.address)
	}
	return host, port, nil
}

// secretName is where the authority is kept.
func (s *settings) secretName() types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: s.secret}
}

// ownNamespace is what Kubernetes puts into the file; "" outside a cluster.
func ownNamespace(file string) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
