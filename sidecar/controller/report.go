package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// report writes the status when it changes, and then tells people and metrics what happened.
func (r *Reconciler) report(ctx context.Context, s hold.Seen, a hold.Action) error {
	if changes(s, a) {
		body, err := statusBody(s.Trigger, *a.Status)
		if err != nil {
			return err
		}
		err = r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(body), client.FieldOwner(v1alpha1.HolderFieldManager))
		if err != nil {
			return fmt.Errorf("write the status of FluxTrigger %s/%s: %w", s.Trigger.Namespace, s.Trigger.Name, err)
		}
	}
	r.Metrics.observe(s, a)
	r.tell(ctx, s, a)
	return nil
}

// changes says that the action's status differs from what the holder wrote before.
func changes(s hold.Seen, a hold.Action) bool {
	return a.Status != nil && !equality.Semantic.DeepEqual(*a.Status, hold.Own(s.Trigger.Status))
}

// statusBody returns the one apply configuration there is for a trigger's status: everything the holder owns there. The
// resourceVersion that was read makes the write a compare-and-swap, and the uid keeps it from another object of that name.
// A field that is not said is absent, never null.
func statusBody(trigger *v1alpha1.FluxTrigger, st v1alpha1.FluxTriggerStatus) (*unstructured.Unstructured, error) {
	st = hold.Own(st)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&st)
	if err != nil {
		return nil, fmt.Errorf("build the status of FluxTrigger %s/%s: %w", trigger.Namespace, trigger.Name, err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(),
		"kind":       "FluxTrigger",
		"metadata": map[string]any{
			"namespace":       trigger.Namespace,
			"name":            trigger.Name,
			"uid":             string(trigger.UID),
			"resourceVersion": trigger.ResourceVersion,
		},
		"status": fields,
	}}, nil
}
