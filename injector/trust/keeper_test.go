package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

const host = "holdfast-injector.holdfast-system.svc"

var secretName = types.NamespacedName{Namespace: "holdfast-system", Name: "holdfast-injector"}

// cluster has a webhook configuration, a clock, and replicas.
type cluster struct {
	t     *testing.T
	store client.Client
	now   time.Time
	fails func(runtime.ApplyConfiguration) error // what an apply answers instead; nil: nothing
}

func newCluster(t *testing.T) *cluster {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), admissionregistrationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, now: begin}
	service := &admissionregistrationv1.ServiceReference{Namespace: "holdfast-system", Name: "holdfast-injector", Path: ptr.To("/mutate-pod")}
	webhook := func(name string) admissionregistrationv1.MutatingWebhook {
		return admissionregistrationv1.MutatingWebhook{Name: name, ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: service},
			FailurePolicy: ptr.To(admissionregistrationv1.Ignore), AdmissionReviewVersions: []string{"v1"}}
	}
	c.store = fake.NewClientBuilder().WithScheme(scheme).WithObjects(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "holdfast-injector", UID: "the-configuration"},
		Webhooks:   []admissionregistrationv1.MutatingWebhook{webhook("one.holdfast.dev"), webhook("two.holdfast.dev")},
	}).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if c.fails != nil {
				if err := c.fails(o); err != nil {
					return err
				}
			}
			return w.Apply(ctx, o, opts...)
		},
	}).Build()
	return c
}

func (c *cluster) replica() *Keeper {
	return &Keeper{Client: c.store, Configuration: "holdfast-injector", Secret: secretName, Now: func() time.Time { return c.now }}
}

// settle lets the replicas look until none has anything to do but to wait.
func (c *cluster) settle(replicas ...*Keeper) {
	c.t.Helper()
	for range 10 {
		for _, k := range replicas {
			if _, err := k.Reconcile(c.t.Context(), ctrl.Request{}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

func (c *cluster) configuration() *admissionregistrationv1.MutatingWebhookConfiguration {
	c.t.Helper()
	var got admissionregistrationv1.MutatingWebhookConfiguration
	if err := c.store.Get(c.t.Context(), types.NamespacedName{Name: "holdfast-injector"}, &got); err != nil {
		c.t.Fatal(err)
	}
	return &got
}

func (c *cluster) secret() *corev1.Secret {
	c.t.Helper()
	var got corev1.Secret
	if err := c.store.Get(c.t.Context(), secretName, &got); err != nil {
		c.t.Fatal(err)
	}
	return &got
}

// call is a call of each webhook as an API server makes it: with the caBundle of now and the name of the service.
func (c *cluster) call(k *Keeper) error {
	c.t.Helper()
	for _, webhook := range c.configuration().Webhooks {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(webhook.ClientConfig.CABundle)
		near, far := net.Pipe()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_ = tls.Server(far, &tls.Config{GetCertificate: k.GetCertificate}).HandshakeContext(c.t.Context()) // the caller says what became of it
		}()
		now := func() time.Time { return c.now }
		err := tls.Client(near, &tls.Config{RootCAs: roots, ServerName: host, Time: now}).HandshakeContext(c.t.Context())
		if err := errors.Join(near.Close(), far.Close()); err != nil {
			return err
		}
		<-answered
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) mustCall(replicas ...*Keeper) {
	c.t.Helper()
	for _, k := range replicas {
		if err := c.call(k); err != nil {
			c.t.Errorf("a call fails: %v", err)
		}
		if err := k.Ready(); err != nil {
			c.t.Errorf("not ready: %v", err)
		}
	}
}

func TestTwoReplicasBecomeReadyWithOneAuthority(t *testing.T) {
	c := newCluster(t)
	a, b := c.replica(), c.replica()
	if a.Ready() == nil {
		t.Error("ready before anything was looked at")
	}
	if _, err := a.GetCertificate(nil); err == nil {
		t.Error("serves something before there is anything")
	}
	c.settle(a, b)
	c.mustCall(a, b)
	if owners := c.secret().OwnerReferences; len(owners) != 1 || owners[0].UID != "the-configuration" {
		t.Errorf("the Secret goes with %v", owners)
	}
	if got := c.configuration().Webhooks; len(got) != 2 || got[0].FailurePolicy == nil || got[0].ClientConfig.Service == nil {
		t.Errorf("the rest of the configuration became %+v", got)
	}
}

// The B3 of the pitfalls: a certificate loaded at the start and served for ever.
func TestTheSecretMayBecomeAnythingWhileCallsSucceed(t *testing.T) {
	other, err := makeSigner(begin)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(data map[string][]byte) func(*cluster) {
		return func(c *cluster) {
			s := c.secret()
			s.Data = data
			if err := c.store.Update(c.t.Context(), s); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	truncated := other.data()
	truncated[corev1.TLSPrivateKeyKey] = truncated[corev1.TLSPrivateKeyKey][:len(truncated[corev1.TLSPrivateKeyKey])/2]
	for name, change := range map[string]func(*cluster){
		"another authority": replace(other.data()),
		"a truncated key":   replace(truncated),
		"nothing":           replace(nil),
		"gone": func(c *cluster) {
			if err := c.store.Delete(c.t.Context(), c.secret()); err != nil {
				c.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			a, b := c.replica(), c.replica()
			c.settle(a, b)
			first := a.served()
			change(c)
			c.settle(a)
			c.mustCall(a, b)
			c.settle(b)
			c.mustCall(a, b)
			if a.served() != first {
				t.Error("what is served changed before the new authority had settled")
			}
			c.now = c.now.Add(Settle)
			c.settle(a)
			c.mustCall(a, b)
			c.settle(b)
			c.mustCall(a, b)
			if a.served().leaf.By == first.leaf.By || a.served().leaf.By != b.served().leaf.By {
				t.Error("the replicas did not move to the new authority")
			}
			if n, _ := readBundle(c.configuration().Webhooks[0].ClientConfig.CABundle); len(n) != 2 {
				t.Errorf("the bundle has %d authorities during the change, want 2", len(n))
			}
			c.now = c.now.Add(Overlap)
			c.settle(a, b)
			c.mustCall(a, b)
			if n, _ := readBundle(c.configuration().Webhooks[1].ClientConfig.CABundle); len(n) != 1 {
				t.Errorf("the bundle has %d authorities afterwards, want 1", len(n))
			}
		})
	}
}

func TestABundleThatWasEmptiedOrReplacedIsPutBack(t *testing.T) {
	other, err := makeSigner(begin)
	if err != nil {
		t.Fatal(err)
	}
	for name, bundle := range map[string][]byte{"emptied": nil, "replaced": other.artifacts.CertPEM, "no certificate": []byte("none")} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			k := c.replica()
			c.settle(k)
			broken := c.configuration()
			broken.Webhooks[1].ClientConfig.CABundle = bundle
			if err := c.store.Update(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
			if c.call(k) == nil {
				t.Error("a call succeeds without the bundle")
			}
			c.settle(k)
			c.mustCall(k)
		})
	}
}

func TestALostRaceIsNoErrorAndWithoutAConfigurationNothingIsWritten(t *testing.T) {
	c := newCluster(t)
	c.fails = func(runtime.ApplyConfiguration) error {
		return apierrors.NewConflict(corev1.Resource("secrets"), "holdfast-injector", errors.New("another replica was first"))
	}
	r, err := c.replica().Reconcile(t.Context(), ctrl.Request{})
	if err != nil || r.RequeueAfter != shortestRecheck {
		t.Errorf("after a conflict: %+v, %v", r, err)
	}

	c = newCluster(t)
	if err := c.store.Delete(t.Context(), c.configuration()); err != nil {
		t.Fatal(err)
	}
	c.fails = func(runtime.ApplyConfiguration) error { return errors.New("nobody should write") }
	k := c.replica()
	c.settle(k)
	if err := k.Ready(); err == nil || !strings.Contains(err.Error(), "no MutatingWebhookConfiguration") {
		t.Errorf("ready: %v", err)
	}
}

func TestWhatIsWrittenBelongsToTheConfiguration(t *testing.T) {
	c := newCluster(t)
	k := c.replica()
	if k.Owner() != nil {
		t.Errorf("an owner that nobody has seen: %v", k.Owner())
	}
	c.settle(k)
	owner := metav1.OwnerReference{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingWebhookConfiguration", Name: "holdfast-injector", UID: "the-configuration"}
	if got := k.Owner(); got == nil || *got != owner {
		t.Errorf("the owner is %v", got)
	}
	if got := c.secret().OwnerReferences; len(got) != 1 || got[0] != owner {
		t.Errorf("the Secret belongs to %v", got)
	}
	if err := c.store.Delete(t.Context(), c.configuration()); err != nil {
		t.Fatal(err)
	}
	c.settle(k)
	if k.Owner() != nil {
		t.Errorf("an owner that is gone: %v", k.Owner())
	}
}

func TestAURLIsCalledByItsName(t *testing.T) {
	for _, row := range []struct{ url, host, problem string }{
		{"https://localhost:9443/mutate-pod", "localhost", ""},
		{"https://127.0.0.1:9443/mutate-pod", "", "use a name"},
		{"https:///mutate-pod", "", "names no host"},
	} {
		got, err := hostOf(admissionregistrationv1.WebhookClientConfig{URL: &row.url})
		if got != row.host || (err == nil) != (row.problem == "") || err != nil && !strings.Contains(err.Error(), row.problem) {
			t.Errorf("%s: %q, %v", row.url, got, err)
		}
	}
}

func TestAnAuthorityThatCannotSignIsOfNoUse(t *testing.T) {
	s, err := makeSigner(begin)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.sign(hosts, begin)
	if err != nil {
		t.Fatal(err)
	}
	leafKey, err := x509.MarshalPKCS8PrivateKey(signed.pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf := map[string][]byte{corev1.TLSCertKey: pemOf(certificateBlock, signed.pair.Leaf.Raw), corev1.TLSPrivateKeyKey: pemOf("PRIVATE KEY", leafKey)}
	another, err := makeSigner(begin)
	if err != nil {
		t.Fatal(err)
	}
	mixed := s.data()
	mixed[corev1.TLSPrivateKeyKey] = another.data()[corev1.TLSPrivateKeyKey]
	for _, row := range []struct {
		name string
		data map[string][]byte
		now  time.Time
		want string
	}{
		{"good", s.data(), begin, ""},
		{"empty", nil, begin, "has no tls.crt"},
		{"of a server", leaf, begin, "may not sign"},
		{"with another's key", mixed, begin, "not a pair"},
		{"ended", s.data(), begin.Add(AuthorityLasts), "not valid now"},
		{"not begun", s.data(), begin.Add(-2 * skew), "not valid now"},
	} {
		_, err := readSigner(row.data, row.now)
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
}
