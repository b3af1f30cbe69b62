package trust

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
)

// commonName is the name of every authority; they differ by their keys.
const commonName = "holdfast-injector"

// skew is how far a clock may be behind ours.
const skew = time.Hour

// signer is an authority with its key.
type signer struct{ artifacts *rotator.KeyPairArtifacts }

func (s *signer) certificate() *x509.Certificate { return s.artifacts.Cert }

// makeSigner makes an authority that lasts from now on.
func makeSigner(now time.Time) (*signer, error) {
	r := rotator.CertRotator{CAName: commonName, CAOrganization: commonName}
	artifacts, err := r.CreateCACert(now.Add(-skew), now.Add(AuthorityLasts))
	if err != nil {
		return nil, fmt.Errorf("make an authority: %w", err)
	}
	return &signer{artifacts}, nil
}

// readSigner returns the authority that the data of a Secret holds under the usual names of a certificate and its key.
// The error says why it is of no use, and never what is in it.
func readSigner(data map[string][]byte, now time.Time) (*signer, error) {
	certPEM, keyPEM := data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
	if len(certPEM) == 0 || len(keyPEM) == 0 {
		return nil, fmt.Errorf("it has no %s or no %s", corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, errors.New("its certificate and its key are not a pair that can be read")
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	switch {
	case !ok:
		return nil, errors.New("its key is no RSA key")
	case !pair.Leaf.IsCA || pair.Leaf.KeyUsage != 0 && pair.Leaf.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, errors.New("its certificate may not sign others")
	case now.Before(pair.Leaf.NotBefore) || !now.Before(pair.Leaf.NotAfter):
		return nil, errors.New("its certificate is not valid now")
	}
	return &signer{&rotator.KeyPairArtifacts{Cert: pair.Leaf, Key: key, CertPEM: certPEM, KeyPEM: keyPEM}}, nil
}

// data is what a Secret holds of the authority.
func (s *signer) data() map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: s.artifacts.CertPEM, corev1.TLSPrivateKeyKey: s.artifacts.KeyPEM}
}

// served is a certificate that is served, with the authority that signed it.
type served struct {
	pair   *tls.Certificate
	leaf   Leaf
	signer *x509.Certificate
}

// sign makes a certificate for hosts; it ends no later than the authority.
func (s *signer) sign(hosts []string, now time.Time) (*served, error) {
	end := now.Add(LeafLasts)
	if s.certificate().NotAfter.Before(end) {
		end = s.certificate().NotAfter
	}
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	r := rotator.CertRotator{DNSName: hosts[0], ExtraDNSNames: hosts[1:], ExtKeyUsages: &usage}
	certPEM, keyPEM, err := r.CreateCertPEM(s.artifacts, now.Add(-skew), end)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	if _, err := rotator.ValidCert(s.artifacts.CertPEM, certPEM, keyPEM, hosts[0], &usage, now); err != nil {
		return nil, fmt.Errorf("check the certificate that was signed: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the certificate that was signed: %w", err)
	}
	leaf := Leaf{By: markOf(s.certificate().Raw), Hosts: slices.Clone(hosts), NotAfter: pair.Leaf.NotAfter.UTC()}
	return &served{pair: &pair, leaf: leaf, signer: s.certificate()}, nil
}
