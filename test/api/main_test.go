// Package api asks a real API server what it makes of Holdfast's kinds: which values it takes and which it refuses, in
// words that name the field and the fix; what it fills in; and what kubectl prints. Flux's kinds are there for the
// samples, but no controller of Flux and no program of Holdfast runs.
package api

import (
	"context"
	"fmt"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

var (
	world *cluster.World

	// admin is refused what has a field the schema does not know, as kubectl's user is.
	admin client.Client
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts one world for all tests and runs them.
func run(m *testing.M) (code int, err error) {
	if world, err = cluster.Start(context.Background(), cluster.Options{WithoutFlux: true}); err != nil {
		return 1, err
	}
	defer func() {
		if stopped := world.Stop(); err == nil {
			err = stopped
		}
	}()
	c, err := world.Client(cluster.Admin)
	if err != nil {
		return 1, err
	}
	admin = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	return m.Run(), nil
}

// kubectl runs kubectl as the administrator and returns what it printed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := world.Kubectl(t.Context(), cluster.Admin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
