package flux

import (
	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
)

// fields is everything the holder ever owns on a Kustomization or GitRepository. What is absent is given up.
type fields struct {
	suspend   *bool  // nil: spec.suspend is given up
	finalizer bool   // false: the finalizer is given up
	heldBy    string // empty: the annotation is given up
	token     string // empty: the annotation is given up
	resumedBy string // empty: the annotation is given up
}

// body returns the one apply configuration there is for an object of Flux, of the kind gvk. The uid keeps it from touching,
// or making, another object of that name; the resourceVersion, where there is one, makes it a compare-and-swap.
func body(gvk schema.GroupVersionKind, t applier.Target, f fields) *unstructured.Unstructured {
	metadata := map[string]any{"namespace": t.Namespace, "name": t.Name, "uid": string(t.UID)}
	if t.ResourceVersion != "" {
		metadata["resourceVersion"] = t.ResourceVersion
	}
	annotations := map[string]any{}
	if f.heldBy != "" {
		annotations[v1alpha1.HeldByAnnotation] = f.heldBy
	}
	if f.token != "" {
		annotations[meta.ReconcileRequestAnnotation] = f.token
	}
	if f.resumedBy != "" {
		annotations[v1alpha1.ResumedByAnnotation] = f.resumedBy
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if f.finalizer {
		metadata["finalizers"] = []any{v1alpha1.HoldFinalizer}
	}
	object := map[string]any{
		"apiVersion": gvk.GroupVersion().String(),
		"kind":       gvk.Kind,
		"metadata":   metadata,
	}
	if f.suspend != nil {
		object["spec"] = map[string]any{"suspend": *f.suspend}
	}
	return &unstructured.Unstructured{Object: object}
}
