package audit

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates for a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	a := authority{}
	a.cert, a.key = issue(t, "authority", nil)
	return a
}

// issue makes a certificate of the name, signed by a; nil: self-signed, an authority.
func issue(t *testing.T, name string, a *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: a == nil,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if a != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

func pair(t *testing.T, name string, a authority) tls.Certificate {
	cert, key := issue(t, name, &a)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writePair(t *testing.T, o ServerOptions, p tls.Certificate) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(p.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, o.CertFile, "CERTIFICATE", p.Certificate[0])
	writePEM(t, o.KeyFile, "PRIVATE KEY", der)
}

// send posts a batch over a connection of its own and returns the status and the server's certificate.
func send(t *testing.T, s *Server, servers authority, certs ...tls.Certificate) (int, *x509.Certificate, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(servers.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs}, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	resp, err := client.Post("https://"+s.Addr().String()+"/", "application/json", strings.NewReader(batch("alice")))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, resp.TLS.PeerCertificates[0], nil
}

func TestServerAdmitsOnlyClientsOfItsAuthorityAndFollowsItsFiles(t *testing.T) {
	dir, clients, servers, strangers := t.TempDir(), newAuthority(t), newAuthority(t), newAuthority(t)
	o := ServerOptions{Address: "127.0.0.1:0", CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		ClientCAFile: filepath.Join(dir, "ca.crt"), Handler: newReceiver()}
	if _, err := Listen(o); err == nil {
		t.Error("it starts without certificates")
	}
	first := pair(t, "first", servers)
	writePair(t, o, first)
	if err := os.WriteFile(o.ClientCAFile, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(o); err == nil {
		t.Error("it starts without client authorities")
	}
	writePEM(t, o.ClientCAFile, "CERTIFICATE", clients.cert.Raw)
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()

	apiserver := pair(t, "kube-apiserver", clients)
	if code, _, err := send(t, s, servers, apiserver); code != 200 || err != nil {
		t.Errorf("the API server is answered with %d, %v", code, err)
	}
	if code, _, err := send(t, s, servers); err == nil {
		t.Errorf("a client without a certificate is answered with %d", code)
	}
	if code, _, err := send(t, s, servers, pair(t, "kube-apiserver", strangers)); err == nil {
		t.Errorf("a client of another authority is answered with %d", code)
	}

	// B3: replaced files count for the next connection, and a broken one keeps the last good pair.
	second := pair(t, "second", servers)
	writePair(t, o, second)
	if code, cert, err := send(t, s, servers, apiserver); err != nil || code != 200 || cert.Subject.CommonName != "second" {
		t.Errorf("with a new certificate: %d, %v", code, err)
	}
	if err := os.WriteFile(o.KeyFile, []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, cert, err := send(t, s, servers, apiserver); err != nil || code != 200 || cert.Subject.CommonName != "second" {
		t.Errorf("with a broken key: %d, %v", code, err)
	}

	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Start = %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end with its context")
	}
}
