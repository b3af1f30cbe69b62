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

// report tells people what was done, writes the status when it changes, and counts. What was done to an applier is told
// before the status is written: when that write is lost, the next pass finds it done and has nothing to tell. A verdict is
// told after: until it is written it is none.
func (r *Reconciler) report(ctx context.Context, s hold.Seen, a hold.Action) error {
	done := a.Verb != hold.Wait
	if done {
		r.tell(ctx, s, a)
	}
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
	if !done {
		r.tell(ctx, s, a)
	}
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
