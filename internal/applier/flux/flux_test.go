package flux

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/internal/applier"
)

var target = applier.Target{NamespacedName: types.NamespacedName{Namespace: "flux-system", Name: "app"}, UID: "k-uid"}

// recorder answers every write with err and keeps what was sent.
type recorder struct {
	err    error
	sent   []any
	forced []bool
	by     []string
}

func (r *recorder) client() client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, c runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			o := (&client.ApplyOptions{}).ApplyOptions(opts)
			raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c)
			if err != nil {
				return err
			}
			r.sent, r.by = append(r.sent, raw), append(r.by, o.FieldManager)
			r.forced = append(r.forced, o.Force != nil && *o.Force)
			return r.err
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			data, err := p.Data(o)
			if err != nil {
				return err
			}
			r.sent, r.by = append(r.sent, string(data)), append(r.by, (&client.PatchOptions{}).ApplyOptions(opts).FieldManager)
			return r.err
		},
	})
}

func kustomization(metadata map[string]any, spec map[string]any) map[string]any {
	metadata["namespace"], metadata["name"], metadata["uid"] = "flux-system", "app", "k-uid"
	o := map[string]any{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": metadata}
	if spec != nil {
		o["spec"] = spec
	}
	return o
}

func gitRepository(metadata map[string]any, spec map[string]any) map[string]any {
	o := kustomization(metadata, spec)
	o["apiVersion"], o["kind"] = "source.toolkit.fluxcd.io/v1", "GitRepository"
	return o
}

// held adds what keeps a Kustomization from going unnoticed.
func held(metadata map[string]any) map[string]any {
	metadata["finalizers"] = []any{"holdfast.dev/hold"}
	return metadata
}

func TestWrites(t *testing.T) {
	guarded := target
	guarded.ResourceVersion = "42"
	mark := func(token string) map[string]any {
		return map[string]any{"holdfast.dev/held-by": "c/t", "reconcile.fluxcd.io/requestedAt": token}
	}
	tests := []struct {
		name string
		do   func(Applier) error
		want []any
	}{
		{
			"a suspend carries the whole hold", func(a Applier) error { return a.Suspend(t.Context(), target, applier.Hold{By: "c/t", Token: "T2"}) },
			[]any{kustomization(held(map[string]any{"annotations": mark("T2")}), map[string]any{"suspend": true})},
		},
		{
			"and whose resume it takes back", func(a Applier) error {
				return a.Suspend(t.Context(), target, applier.Hold{By: "c/t", Token: "T2", ResumedBy: "flux"})
			},
			[]any{kustomization(held(map[string]any{"annotations": map[string]any{
				"holdfast.dev/held-by": "c/t", "reconcile.fluxcd.io/requestedAt": "T2", "holdfast.dev/resumed-by": "flux",
			}}), map[string]any{"suspend": true})},
		},
		{
			"a guarded resume carries the resourceVersion", func(a Applier) error { return a.Resume(t.Context(), guarded, "c/t", "T1") },
			[]any{kustomization(held(map[string]any{"annotations": mark("T1"), "resourceVersion": "42"}), map[string]any{"suspend": false})},
		},
		{
			"a release resumes by force before it gives the field up", func(a Applier) error { return a.Release(t.Context(), guarded) },
			[]any{
				kustomization(held(map[string]any{"resourceVersion": "42"}), map[string]any{"suspend": false}),
				kustomization(map[string]any{"resourceVersion": "42"}, nil), // as the first was answered
			},
		},
		{
			"giving up resumes nothing first", func(a Applier) error { return a.GiveUp(t.Context(), target) },
			[]any{kustomization(map[string]any{}, nil)},
		},
		{
			"a freeze suspends the source", func(a Applier) error { return a.Freeze(t.Context(), guarded, "F1") },
			[]any{gitRepository(map[string]any{"annotations": map[string]any{"reconcile.fluxcd.io/requestedAt": "F1"}, "resourceVersion": "42"}, map[string]any{"suspend": true})},
		},
		{
			"a thaw leaves it to whoever else suspended it", func(a Applier) error { return a.Thaw(t.Context(), target) },
			[]any{gitRepository(map[string]any{}, nil)},
		},
		{
			"a fetch patches one annotation", func(a Applier) error { return a.Fetch(t.Context(), guarded, "F1") },
			[]any{`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"F1"},"resourceVersion":"42","uid":"k-uid"}}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &recorder{}
			if err := tt.do(New(r.client())); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.sent); diff != "" {
				t.Error(diff)
			}
			for i := range r.by {
				if r.by[i] != "holdfast" {
					t.Errorf("write %d is by %q", i, r.by[i])
				}
			}
			for i, forced := range r.forced {
				if !forced {
					t.Errorf("apply %d is not forced", i)
				}
			}
		})
	}
}

func TestATargetThatMovedIsTold(t *testing.T) {
	kind := schema.GroupResource{Group: "kustomize.toolkit.fluxcd.io", Resource: "kustomizations"}
	tests := []struct {
		name  string
		err   error
		moved bool
	}{
		{"another resourceVersion or uid", apierrors.NewConflict(kind, "app", errors.New("x")), true},
		{"gone", apierrors.NewNotFound(kind, "app"), true},
		{"gone, where the server tries to create it", apierrors.NewInvalid(schema.GroupKind{}, "app", field.ErrorList{field.Required(field.NewPath("spec", "interval"), "")}), true},
		{"denied by a policy", apierrors.NewInvalid(schema.GroupKind{}, "app", nil), false},
		{"forbidden", apierrors.NewForbidden(kind, "app", nil), false},
		{"an outage", errors.New("connection refused"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := New((&recorder{err: tt.err}).client()).Suspend(t.Context(), target, applier.Hold{By: "c/t", Token: "T2"})
			if errors.Is(err, applier.ErrMoved) != tt.moved || !errors.Is(err, tt.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAReleaseThatFailsGivesNothingUp(t *testing.T) {
	r := &recorder{err: errors.New("connection refused")}
	if err := New(r.client()).Release(t.Context(), target); err == nil || len(r.sent) != 1 {
		t.Errorf("err %v after %d writes", err, len(r.sent))
	}
}
