package start

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// shelf is a cache whose informers are filled as it says, by kind; one that is not named does not exist.
type shelf struct {
	cache.Cache
	filled map[client.Object]*bool
}

type informer struct {
	cache.Informer
	filled *bool
}

func (i informer) HasSynced() bool { return *i.filled }

func (s shelf) GetInformer(_ context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if len(options) != 1 {
		return nil, errors.New("it would be waited for")
	}
	if filled, ok := s.filled[o]; ok {
		return informer{filled: filled}, nil
	}
	return nil, &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "holdfast.dev", Kind: "FluxTrigger"}}
}

// refused is what a reflector for o tells when it may not list.
func refused(c *Caches, o client.Object, resource string) {
	r := toolscache.NewReflectorWithOptions(&toolscache.ListWatch{}, o, toolscache.NewStore(toolscache.MetaNamespaceKeyFunc), toolscache.ReflectorOptions{})
	c.WatchFailed(context.Background(), r, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no RBAC policy matched")))
}

func TestWhatIsNotReadYetIsNamedWithWhy(t *testing.T) {
	namespaces, secrets, pods := &metav1.PartialObjectMetadata{}, &corev1.Secret{}, &corev1.Pod{}
	var hasNamespaces, hasSecrets, hasPods bool
	var c Caches
	if err := c.Want(t.Context(), shelf{filled: map[client.Object]*bool{namespaces: &hasNamespaces, secrets: &hasSecrets, pods: &hasPods}},
		Kind{"Namespaces", namespaces}, Kind{"Secrets", secrets}, Kind{"Pods", pods}); err != nil {
		t.Fatal(err)
	}
	hasPods = true
	if got := c.Waits().Error(); got != "Namespaces are not read yet; Secrets are not read yet" {
		t.Errorf("got %q", got)
	}
	refused(&c, namespaces, "namespaces")
	refused(&c, pods, "pods")
	got := c.Waits().Error()
	for _, want := range []string{"bind the ClusterRole holdfast-holder", "Namespaces cannot be read: namespaces is forbidden", "Secrets are not read yet"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in %q", want, got)
		}
	}
	if strings.Contains(got, "Pods") {
		t.Errorf("what is read was refused once, and is still told of: %q", got)
	}
	hasNamespaces, hasSecrets = true, true
	if got := c.Waits(); got == nil || strings.Contains(got.Error(), "cannot") {
		t.Errorf("got %v", got)
	}
}

func TestAKindThatIsNotInstalledIsNamedWithWhatToDo(t *testing.T) {
	var c Caches
	err := c.Want(t.Context(), shelf{}, Kind{"FluxTriggers", &corev1.Secret{}})
	if err == nil || !strings.Contains(err.Error(), "watch FluxTriggers: the cluster has no such kind; install the CustomResourceDefinitions") {
		t.Errorf("got %v", err)
	}
}
