package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keeper serves a certificate that API servers trust, and keeps them trusting it. Each replica has one.
type Keeper struct {
	Client        client.Client        // its cache has the two objects below
	Configuration string               // name of the MutatingWebhookConfiguration
	Secret        types.NamespacedName // where the authority is kept
	Now           func() time.Time
	Metrics       *Metrics

	memory Memory // of the one worker

	mu      sync.RWMutex
	serving *served
	state   error // why calls do not succeed; nil: they do
	begun   bool  // state says something
	owner   *metav1.OwnerReference
}

// GetCertificate is for a tls.Config. It fails until there is one to serve, and from then on never.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if s := k.served(); s != nil {
		return s.pair, nil
	}
	return nil, errors.New("no certificate yet")
}

// Ready returns nil when a certificate is served that the webhook configuration trusts, as far as was seen last.
func (k *Keeper) Ready() error {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if !k.begun {
		return errors.New("the certificates were not looked at yet")
	}
	return k.state
}

// Reconcile is one pass: observe, decide, perform. What it is asked about does not matter, since there is one of each.
func (k *Keeper) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now := k.Now().UTC()
	w, err := k.observe(ctx, now)
	if err != nil {
		k.report(err)
		return ctrl.Result{}, err
	}
	var p Plan
	k.memory, p = Step(k.memory, w.seen(now, k.served()))
	k.note(w, p)
	err = k.perform(ctx, w, p, now)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: shortestRecheck}, nil // another replica wrote first, which the cache will show
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if p.Sign {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // what is served has changed, and the bundle follows it
	}
	return ctrl.Result{RequeueAfter: p.Recheck}, nil
}

// seenObjects are what a pass works on.
type seenObjects struct {
	configuration *admissionregistrationv1.MutatingWebhookConfiguration // nil: there is none
	secret        *corev1.Secret                                        // nil: there is none
	kept          *signer                                               // nil: the Secret is missing or of no use
	useless       error                                                 // why it is of no use
	hosts         []string
	bundles       [][]*x509.Certificate
	exact         bool
	known         certificates // every certificate a bundle may need
}

func (k *Keeper) observe(ctx context.Context, now time.Time) (*seenObjects, error) {
	w := &seenObjects{exact: true, known: certificates{}}
	var c admissionregistrationv1.MutatingWebhookConfiguration
	switch err := k.Client.Get(ctx, types.NamespacedName{Name: k.Configuration}, &c); {
	case apierrors.IsNotFound(err):
		k.owns(nil)
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("read the webhook configuration %s: %w", k.Configuration, err)
	}
	k.owns(&c)
	w.configuration = &c
	for _, webhook := range c.Webhooks {
		host, err := hostOf(webhook.ClientConfig)
		if err != nil {
			return nil, fmt.Errorf("webhook %s: %w", webhook.Name, err)
		}
		w.hosts = append(w.hosts, host)
		found, exact := readBundle(webhook.ClientConfig.CABundle)
		w.bundles, w.exact = append(w.bundles, found), w.exact && exact
		w.known.add(found...)
	}
	slices.Sort(w.hosts)
	w.hosts = slices.Compact(w.hosts)

	var s corev1.Secret
	switch err := k.Client.Get(ctx, k.Secret, &s); {
	case apierrors.IsNotFound(err):
		w.useless = errors.New("it is missing")
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("read the Secret %s: %w", k.Secret, err)
	}
	w.secret = &s
	if w.kept, w.useless = readSigner(s.Data, now); w.kept != nil {
		w.known.add(w.kept.certificate())
	}
	return w, nil
}

// hostOf is the name an API server asks the certificate for.
func hostOf(c admissionregistrationv1.WebhookClientConfig) (string, error) {
	if c.Service != nil {
		return c.Service.Name + "." + c.Service.Namespace + ".svc", nil
	}
	if c.URL == nil {
		return "", errors.New("it names neither a service nor a URL")
	}
	u, err := url.Parse(*c.URL)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("its URL names no host")
	}
	if net.ParseIP(u.Hostname()) != nil {
		return "", errors.New("its URL has an address; use a name, which is what certificates are made for here")
	}
	return u.Hostname(), nil
}

func (w *seenObjects) seen(now time.Time, serving *served) Seen {
	s := Seen{Now: now, Hosts: w.hosts, Exact: w.exact}
	for _, b := range w.bundles {
		s.Bundles = append(s.Bundles, authorities(b))
	}
	if w.kept != nil {
		a := authorityOf(w.kept.certificate())
		s.Kept = &a
	}
	if serving != nil {
		leaf := serving.leaf
		s.Serving = &leaf
		w.known.add(serving.signer)
	}
	return s
}

// note keeps what readiness says.
func (k *Keeper) note(w *seenObjects, p Plan) {
	var state error
	switch {
	case w.configuration == nil:
		state = fmt.Errorf("there is no MutatingWebhookConfiguration %s", k.Configuration)
	case len(w.hosts) == 0:
		state = fmt.Errorf("the MutatingWebhookConfiguration %s has no webhooks", k.Configuration)
	case !p.Trusted:
		state = errors.New("what is served is not trusted by the webhook configuration yet")
	}
	k.report(state)
}

func (k *Keeper) report(state error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state, k.begun = state, true
}

func (k *Keeper) served() *served {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.serving
}

// serve replaces what is served: calls that are under way end with what they began with.
func (k *Keeper) serve(s *served) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.serving = s
	k.Metrics.serving(s.leaf.NotAfter)
}
