package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// writeStatus replaces all that gitmirror owns of obj's status with next, by server-side apply, if obj is still as it was
// read: its uid and resourceVersion travel with the write, so a conflict means read and decide again. It writes nothing
// when next says what now says. kind is obj's kind in holdfast.dev/v1alpha1.
func writeStatus[T any](ctx context.Context, c client.Client, kind string, obj client.Object, now, next T) error {
	if equality.Semantic.DeepEqual(now, next) {
		return nil
	}
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&next)
	if err != nil {
		return fmt.Errorf("status of %s %s: encode: %w", kind, client.ObjectKeyFromObject(obj), err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": body}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	u.SetResourceVersion(obj.GetResourceVersion())
	if err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.MirrorFieldManager)); err != nil {
		return fmt.Errorf("status of %s %s: write: %w", kind, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}
