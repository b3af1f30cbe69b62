package controller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// serverWith is a fake API server that holds obj, and keeps the statuses it is sent, newest last.
func serverWith(t *testing.T, obj client.Object) (c client.Client, sent *[]map[string]any) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	sent = new([]map[string]any)
	c = fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj).WithStatusSubresource(obj).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, ac runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(ac)
			if err != nil {
				return err
			}
			*sent = append(*sent, body)
			return c.SubResource(sub).Apply(ctx, ac, opts...)
		},
	}).Build()
	return c, sent
}

func web() *v1alpha1.GitTarget {
	return &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "t1"}}
}

// read returns the target as the server has it now.
func read(t *testing.T, c client.Client) *v1alpha1.GitTarget {
	t.Helper()
	target := &v1alpha1.GitTarget{}
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, target); err != nil {
		t.Fatal(err)
	}
	return target
}

func TestAStatusIsWrittenWholeAndOnlyWhenItSaysSomethingNew(t *testing.T) {
	c, sent := serverWith(t, web())
	said := v1alpha1.GitTargetStatus{ObservedGeneration: 3, Commit: "c1"}
	for range 2 {
		target := read(t, c)
		if err := writeStatus(t.Context(), c, "GitTarget", target, target.Status, said); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(said, read(t, c).Status); diff != "" || len(*sent) != 1 {
		t.Errorf("%d writes; status (-want +got)\n%s", len(*sent), diff)
	}
}

func TestAStatusIsForTheVeryObjectThatWasRead(t *testing.T) {
	c, sent := serverWith(t, web())
	target := read(t, c)
	if err := writeStatus(t.Context(), c, "GitTarget", target, target.Status, v1alpha1.GitTargetStatus{Commit: "c1"}); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{{
		"apiVersion": "holdfast.dev/v1alpha1",
		"kind":       "GitTarget",
		"metadata":   map[string]any{"namespace": "shop", "name": "web", "uid": "t1", "resourceVersion": target.ResourceVersion},
		"status":     map[string]any{"commit": "c1"},
	}}
	if diff := cmp.Diff(want, *sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAStatusOfAnObjectThatChangedSinceIsNotWritten(t *testing.T) {
	c, _ := serverWith(t, web())
	target := read(t, c)
	now := read(t, c)
	now.Spec.Branch = "main"
	if err := c.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	err := writeStatus(t.Context(), c, "GitTarget", target, target.Status, v1alpha1.GitTargetStatus{Commit: "c1"})
	if !apierrors.IsConflict(err) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if got := read(t, c).Status.Commit; got != "" {
		t.Errorf("the status says %q", got)
	}
	if res, err := again(err); err != nil || res.IsZero() {
		t.Errorf("a conflict ends as %+v, %v; want another pass", res, err)
	}
}
