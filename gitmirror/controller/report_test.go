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

// serverWith is a fake API server that holds obj, and counts the statuses it is sent.
func serverWith(t *testing.T, obj client.Object) (c client.Client, writes *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	writes = new(int)
	c = fake.NewClientBuilder().WithScheme(scheme).WithObjects(obj).WithStatusSubresource(obj).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, ac runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			*writes++
			return c.SubResource(sub).Apply(ctx, ac, opts...)
		},
	}).Build()
	return c, writes
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
	c, writes := serverWith(t, web())
	said := v1alpha1.GitTargetStatus{ObservedGeneration: 3, Commit: "c1"}
	for range 2 {
		target := read(t, c)
		if err := writeStatus(t.Context(), c, "GitTarget", target, target.Status, said); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(said, read(t, c).Status); diff != "" || *writes != 1 {
		t.Errorf("%d writes; status (-want +got)\n%s", *writes, diff)
	}
}

func TestAStatusOfAnObjectThatIsNotAsItWasReadIsNotWritten(t *testing.T) {
	for _, row := range []struct {
		says    string
		changed func(*v1alpha1.GitTarget) // of what was read, against what the server has
	}{
		{"somebody wrote it since", func(g *v1alpha1.GitTarget) { g.ResourceVersion = "1" }},
		{"it was made anew under its name", func(g *v1alpha1.GitTarget) { g.UID = "t0" }},
	} {
		t.Run(row.says, func(t *testing.T) {
			c, _ := serverWith(t, web())
			target := read(t, c)
			row.changed(target)
			err := writeStatus(t.Context(), c, "GitTarget", target, target.Status, v1alpha1.GitTargetStatus{Commit: "c1"})
			if !apierrors.IsConflict(err) {
				t.Errorf("got %v, want a conflict", err)
			}
			if res, err := again(err); err != nil || res.IsZero() {
				t.Errorf("a conflict is %+v, %v, and not another pass", res, err)
			}
			if got := read(t, c).Status.Commit; got != "" {
				t.Errorf("the status says %q", got)
			}
		})
	}
}
