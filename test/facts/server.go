package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// apply is a forced server-side apply of body to the Kustomization of that name.
func (l Look) apply(ctx context.Context, name, manager string, body map[string]any) error {
	u := &unstructured.Unstructured{Object: body}
	u.SetGroupVersionKind(kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind))
	u.SetNamespace(l.Key().Namespace)
	u.SetName(name)
	return l.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(manager), client.ForceOwnership)
}

// owns says that the manager owns spec.suspend by that operation.
func owns(k *kustomizev1.Kustomization, manager string, op metav1.ManagedFieldsOperationType) bool {
	return slices.ContainsFunc(k.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == manager && m.Operation == op && m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:suspend"`)
	})
}

// refused says that err is of that sort.
func refused(err error, is func(error) bool, sort string) error {
	switch {
	case is(err):
		return nil
	case err == nil:
		return fmt.Errorf("want %s, got no error", sort)
	}
	return fmt.Errorf("want %s, got: %w", sort, err)
}

// after carries out steps in order, and returns the Kustomization as it is then.
func (l Look) after(ctx context.Context, steps ...func() error) (*kustomizev1.Kustomization, error) {
	for i, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return l.Kustomization(ctx)
}

const suspended = `{"spec":{"suspend":true}}`

var ofTheServer = []Fact{
	{"an apply that names another uid is Invalid", func(ctx context.Context, l Look) error {
		return refused(l.Apply(ctx, "holder", `{"metadata":{"uid":"another"},"spec":{"suspend":true}}`), apierrors.IsInvalid, "Invalid")
	}},
	{"an apply that names a uid and finds no object is a Conflict, and makes none", func(ctx context.Context, l Look) error {
		body := map[string]any{"metadata": map[string]any{"uid": "gone"}, "spec": map[string]any{"suspend": true}}
		err := l.apply(ctx, l.Key().Name+"-gone", "holder", body)
		return refused(err, apierrors.IsConflict, "a Conflict")
	}},
	{"an apply with an old resourceVersion is a Conflict", func(ctx context.Context, l Look) error {
		k, err := l.Kustomization(ctx)
		if err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"metadata":{"annotations":{"fact":"moved"}}}`); err != nil {
			return err
		}
		err = l.Apply(ctx, "holder", fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q},"spec":{"suspend":true}}`, k.UID, k.ResourceVersion))
		return refused(err, apierrors.IsConflict, "a Conflict")
	}},
	{"a merge patch that names another uid is refused, as moved or as invalid", func(ctx context.Context, l Look) error {
		err := l.Patch(ctx, "fact", `{"metadata":{"uid":"another"}}`)
		return refused(err, func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsInvalid(err) }, "Conflict or Invalid")
	}},
	{"a merge patch with an old resourceVersion is a Conflict", func(ctx context.Context, l Look) error {
		k, err := l.Kustomization(ctx)
		if err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"metadata":{"annotations":{"fact":"moved"}}}`); err != nil {
			return err
		}
		err = l.Patch(ctx, "fact", fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"fact":"again"}}}`, k.ResourceVersion))
		return refused(err, apierrors.IsConflict, "a Conflict")
	}},
	{"a forced apply takes a field from whoever had set it to another value", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Patch(ctx, "flux", `{"spec":{"suspend":false}}`) },
			func() error { return l.Apply(ctx, "holder", suspended) })
		return errors.Join(err, want(k != nil && owns(k, "holder", "Apply") && !owns(k, "flux", "Update"), k, "holder alone owns spec.suspend"))
	}},
	{"a forced apply shares a field with whoever had set it to the same value", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Patch(ctx, "flux", suspended) },
			func() error { return l.Apply(ctx, "holder", suspended) })
		return errors.Join(err, want(k != nil && owns(k, "holder", "Apply") && owns(k, "flux", "Update"), k, "both own spec.suspend"))
	}},
	{"an update to another value takes a field from whoever applied it", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Apply(ctx, "holder", suspended) },
			func() error { return l.Patch(ctx, "flux", `{"spec":{"suspend":false}}`) })
		return errors.Join(err, want(k != nil && !owns(k, "holder", "Apply") && owns(k, "flux", "Update"), k, "flux alone owns spec.suspend"))
	}},
	{"an update to the same value takes nothing, and makes no new version", func(ctx context.Context, l Look) error {
		var rv string
		k, err := l.after(ctx,
			func() error { _, err := l.Rest(ctx, "at-rest"); return err },
			func() error { return l.Apply(ctx, "holder", suspended) },
			func() error {
				k, err := l.Kustomization(ctx)
				rv = k.ResourceVersion
				return err
			},
			func() error { return l.Patch(ctx, "flux", suspended) })
		return errors.Join(err, want(k != nil && !owns(k, "flux", "Update") && k.ResourceVersion == rv, k, "flux owns nothing, and the version is the same"))
	}},
	{"a value that was taken away and put back by an update does not come back to whoever applied it", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Apply(ctx, "holder", suspended) },
			func() error { return l.Patch(ctx, "flux", `{"spec":{"suspend":false}}`) },
			func() error { return l.Patch(ctx, "flux", suspended) })
		return errors.Join(err, want(k != nil && !owns(k, "holder", "Apply"), k, "holder owns nothing"))
	}},
	{"what an apply leaves out is removed when nobody else owns it", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error {
				return l.Apply(ctx, "holder", `{"metadata":{"annotations":{"held":"by"}},"spec":{"suspend":true}}`)
			},
			func() error { return l.Apply(ctx, "holder", `{"spec":{"suspend":true}}`) })
		return errors.Join(err, want(k != nil && k.Annotations["held"] == "", k, "the annotation is gone"))
	}},
	{"what an apply leaves out stays when an update owns it too", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Patch(ctx, "flux", suspended) },
			func() error { return l.Apply(ctx, "holder", suspended) },
			func() error { return l.Apply(ctx, "holder", `{}`) })
		return errors.Join(err, want(k != nil && k.Spec.Suspend, k, "it stays suspended"))
	}},
	{"a finalizer that is applied joins those that are there", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx, func() error { return l.Apply(ctx, "holder", `{"metadata":{"finalizers":["holdfast.dev/fact"]}}`) })
		err = errors.Join(err, want(k != nil && len(k.Finalizers) == 2, k, "Flux's finalizer and ours"))
		return errors.Join(err, l.Apply(ctx, "holder", `{}`))
	}},
	{"a finalizer that an apply leaves out goes, and the others stay", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Apply(ctx, "holder", `{"metadata":{"finalizers":["holdfast.dev/fact"]}}`) },
			func() error { return l.Apply(ctx, "holder", `{}`) })
		return errors.Join(err, want(k != nil && slices.Equal(k.Finalizers, []string{kustomizev1.KustomizationFinalizer}), k, "Flux's finalizer alone"))
	}},
	{"a merge patch of finalizers replaces the list, and wipes those it does not know", func(ctx context.Context, l Look) error {
		k, err := l.after(ctx,
			func() error { return l.Apply(ctx, "holder", `{"metadata":{"finalizers":["holdfast.dev/fact"]}}`) },
			func() error { return l.Patch(ctx, "flux", `{"metadata":{"finalizers":["finalizers.fluxcd.io"]}}`) })
		return errors.Join(err, want(k != nil && len(k.Finalizers) == 1, k, "Flux's finalizer alone"))
	}},
	{"generation moves with the spec, and not with metadata", func(ctx context.Context, l Look) error {
		before, err := l.Kustomization(ctx)
		if err != nil {
			return err
		}
		k, err := l.after(ctx, func() error { return l.Patch(ctx, "fact", `{"metadata":{"annotations":{"fact":"x"}}}`) })
		if err = errors.Join(err, want(k.Generation == before.Generation, k, "the same generation after metadata")); err != nil {
			return err
		}
		k, err = l.after(ctx, func() error { return l.Patch(ctx, "fact", suspended) })
		return errors.Join(err, want(k.Generation == before.Generation+1, k, "the next generation after the spec"))
	}},
	{"a status that is applied with an old resourceVersion is a Conflict", func(ctx context.Context, l Look) error {
		k, err := l.Kustomization(ctx)
		if err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"metadata":{"annotations":{"fact":"moved"}}}`); err != nil {
			return err
		}
		u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"lastAttemptedRevision": "x"}}}
		u.SetGroupVersionKind(kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind))
		u.SetNamespace(k.Namespace)
		u.SetName(k.Name)
		u.SetResourceVersion(k.ResourceVersion)
		err = l.Client().Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("fact"), client.ForceOwnership)
		return refused(err, apierrors.IsConflict, "a Conflict")
	}},
}
