package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// validFor outlives any world; validBefore forgives a clock that is set back.
const (
	validFor    = 7 * 24 * time.Hour
	validBefore = time.Hour
)

// authority signs certificates. A world has two: one for the cluster and its users, and one for the audit webhook, so
// that no user's certificate is accepted by the audit receiver.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte // the certificate
}

// pair is a certificate with its key, both as PEM.
type pair struct{ cert, key []byte }

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: pemBlock("CERTIFICATE", der)}, nil
}

// server signs a certificate for a server on loopback; names are further host names and addresses.
func (a *authority) server(name string, names ...string) (pair, error) {
	template := certificate(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, n := range append([]string{"127.0.0.1", "localhost"}, names...) {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	return a.sign(template)
}

// client signs a certificate the API server takes for the user name with groups.
func (a *authority) client(name string, groups ...string) (pair, error) {
	template := certificate(pkix.Name{CommonName: name, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, _, err := encodeKey(key)
	return pair{cert: pemBlock("CERTIFICATE", der), key: keyPEM}, err
}

func certificate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // crypto/rand does not fail
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject, NotBefore: now.Add(-validBefore), NotAfter: now.Add(validFor),
		KeyUsage: x509.KeyUsageDigitalSignature}
}

// encodeKey returns the private and the public key as PEM.
func encodeKey(key *ecdsa.PrivateKey) (private, public []byte, err error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	pub, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	return pemBlock("EC PRIVATE KEY", der), pemBlock("PUBLIC KEY", pub), nil
}

func pemBlock(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pki is what the world's programs find on disk, and the authorities that sign for users.
type pki struct {
	dir            string
	cluster, audit *authority
}

// newPKI writes the files that components are pointed at into dir; file gives their paths.
func newPKI(dir string) (*pki, error) {
	cluster, err := newAuthority("holdfast test cluster")
	if err != nil {
		return nil, err
	}
	audit, err := newAuthority("holdfast test audit")
	if err != nil {
		return nil, err
	}
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	accountsKey, accountsPub, err := encodeKey(accounts)
	if err != nil {
		return nil, err
	}
	p := &pki{dir: dir, cluster: cluster, audit: audit}
	files := map[string][]byte{"ca.crt": cluster.pem, "audit-ca.crt": audit.pem, "sa.key": accountsKey, "sa.pub": accountsPub}
	for name, issue := range map[string]func() (pair, error){
		"apiserver": func() (pair, error) {
			return cluster.server("kube-apiserver", "kubernetes.default.svc", "10.96.0.1")
		},
		"controller-manager": func() (pair, error) { return cluster.server("kube-controller-manager") },
		"apiserver-kubelet":  func() (pair, error) { return cluster.client("kube-apiserver", "system:masters") },
		"audit":              func() (pair, error) { return audit.server("gitmirror") },
	} {
		pair, err := issue()
		if err != nil {
			return nil, err
		}
		files[name+".crt"], files[name+".key"] = pair.cert, pair.key
	}
	for name, content := range files {
		if err := os.WriteFile(p.file(name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pki) file(name string) string { return filepath.Join(p.dir, name) }
