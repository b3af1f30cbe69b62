package trust

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"slices"
)

const certificateBlock = "CERTIFICATE"

// markOf names a certificate.
func markOf(der []byte) Mark {
	sum := sha256.Sum256(der)
	return Mark(hex.EncodeToString(sum[:]))
}

// certificates are certificates by their marks.
type certificates map[Mark]*x509.Certificate

func (c certificates) add(more ...*x509.Certificate) {
	for _, cert := range more {
		c[markOf(cert.Raw)] = cert
	}
}

// readBundle returns the authorities of a caBundle, and whether the text is exactly what writeBundle makes of them.
func readBundle(text []byte) (found []*x509.Certificate, exact bool) {
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && cert.IsCA {
			found = append(found, cert)
		}
	}
	return found, bytes.Equal(text, writeBundle(found))
}

// writeBundle is the caBundle of these certificates; their order is that of their marks, so that replicas write alike.
func writeBundle(certs []*x509.Certificate) []byte {
	byMark := certificates{}
	byMark.add(certs...)
	order := make([]Mark, 0, len(byMark))
	for mark := range byMark {
		order = append(order, mark)
	}
	slices.Sort(order)
	var text bytes.Buffer
	for _, mark := range order {
		text.Write(pemOf(certificateBlock, byMark[mark].Raw))
	}
	return text.Bytes()
}

// authorities are what Step needs to know of certificates.
func authorities(certs []*x509.Certificate) []Authority {
	all := make([]Authority, 0, len(certs))
	for _, c := range certs {
		all = append(all, authorityOf(c))
	}
	return all
}

func authorityOf(c *x509.Certificate) Authority {
	return Authority{Mark: markOf(c.Raw), NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC()}
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
