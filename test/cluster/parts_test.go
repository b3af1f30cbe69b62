package cluster

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestTwoWorldsNeverShareAPort(t *testing.T) {
	a, err := takePorts()
	if err != nil {
		t.Fatal(err)
	}
	defer a.release()
	b, err := takePorts()
	if err != nil {
		t.Fatal(err)
	}
	defer b.release()
	all := slices.Concat(numbers(a), numbers(b))
	slices.Sort(all)
	if distinct := slices.Compact(slices.Clone(all)); len(distinct) != len(all) || all[0] < firstPort || all[len(all)-1] > lastPort {
		t.Errorf("ports %v", all)
	}
}

// numbers are all fields of p that are ports; a port nobody has picked would be 0.
func numbers(p *ports) (all []int) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Int {
			all = append(all, int(f.Int()))
		}
	}
	return all
}

func TestAPortSomebodyListensOnIsNotTaken(t *testing.T) {
	free, lock, err := takePort(firstPort)
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()
	l, err := net.Listen("tcp", loopback(free))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other, lock, err := takePort(free)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	if other == free {
		t.Errorf("took %d, which is listened on", free)
	}
}

func TestAnIdentityIsWhatItsCertificateSays(t *testing.T) {
	ca, err := newAuthority("ca")
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string][]string{
		Admin:    {"system:masters"},
		Alice:    nil,
		Deployer: {"system:serviceaccounts", "system:serviceaccounts:team-a"},
	} {
		pair, err := ca.client(user, groups(user)...)
		if err != nil {
			t.Fatal(err)
		}
		cert := parse(t, pair)
		if cert.Subject.CommonName != user || !slices.Equal(cert.Subject.Organization, want) {
			t.Errorf("%s has the certificate of %s", user, cert.Subject)
		}
	}
}

func TestTheAuditReceiverTrustsNoUserOfTheCluster(t *testing.T) {
	p, err := newPKI(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(p.file("audit-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, row := range []struct {
		by   *authority
		want bool
	}{{p.audit, true}, {p.cluster, false}} {
		pair, err := row.by.client(Alice)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parse(t, pair).Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if (err == nil) != row.want {
			t.Errorf("a certificate by %s: %v", row.by.cert.Subject, err)
		}
	}
}

func parse(t *testing.T, p pair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(p.cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestOutsideACheckoutTheErrorSaysSo(t *testing.T) {
	root, err := findCheckout()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root + "/test/cluster/kube/go.mod"); err != nil {
		t.Errorf("found %s, which is no checkout: %v", root, err)
	}
	t.Chdir(t.TempDir())
	if _, err := findCheckout(); err == nil || !strings.Contains(err.Error(), "run this from inside one") {
		t.Errorf("got %v", err)
	}
}

func TestTheStampedVersionIsTheOneThatIsBuilt(t *testing.T) {
	gomod, err := os.ReadFile("kube/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(gomod), "k8s.io/kubernetes "+kubeVersion+"\n") {
		t.Errorf("kube/go.mod does not require k8s.io/kubernetes %s", kubeVersion)
	}
}
