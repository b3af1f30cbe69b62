package statusapply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Write replaces all that manager owns of obj's status with next, unless now says the same already. kind is obj's kind in
// holdfast.dev/v1alpha1. A conflict (apierrors.IsConflict) means that obj changed since it was read: read and decide again.
func Write[T any](ctx context.Context, c client.Client, manager, kind string, obj client.Object, now, next T) error {
	if equality.Semantic.DeepEqual(now, next) {
		return nil
	}
	body, err := Body(kind, obj, &next)
	if err == nil {
		err = c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(body), client.FieldOwner(manager))
	}
	if err != nil {
		return fmt.Errorf("write the status of %s %s: %w", kind, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

// Body returns what Write sends for obj: the resourceVersion that was read makes it a compare-and-swap, and the uid keeps
// it from another object of that name. status points to a struct; what is not said there is absent, never null.
func Body(kind string, obj client.Object, status any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	u.SetResourceVersion(obj.GetResourceVersion())
	return u, nil
}
