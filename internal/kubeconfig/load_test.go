package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutAnAPIServerItSaysWhatIsMissing(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(broken, []byte("clusters: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		file, host string
		want       []string
	}{
		"outside of a pod":              {want: []string{"--kubeconfig", "KUBECONFIG", "KUBERNETES_SERVICE_HOST"}},
		"in a pod that mounts no token": {host: "10.0.0.1", want: []string{"--kubeconfig", "/var/run/secrets/kubernetes.io/serviceaccount/token"}},
		"a file that is none":           {file: broken, want: []string{broken, "read the kubeconfig"}},
		"a file that is not there":      {file: broken + "-gone", want: []string{"--kubeconfig", "KUBECONFIG"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("KUBECONFIG", row.file)
			t.Setenv("KUBERNETES_SERVICE_HOST", row.host)
			t.Setenv("KUBERNETES_SERVICE_PORT", "443")
			c, err := Load()
			if err == nil {
				t.Fatalf("found %s", c.Host)
			}
			for _, want := range append(row.want, "find the API server") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: says nothing of %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "KUBERNETES_MASTER") {
				t.Errorf("%v: nothing reads that variable", err)
			}
		})
	}
}
