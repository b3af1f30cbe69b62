package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// One operation at a time uses a source. What the API says of it is enough between passes; between the passes of two
// triggers at one instant it is not, because neither record is in the other's cache. There the claims of this process
// decide.

// inUse returns the trigger whose operation uses source now, other than t; empty when none does.
func (r *Reconciler) inUse(ctx context.Context, source string, t *v1alpha1.FluxTrigger) (string, error) {
	var triggers v1alpha1.FluxTriggerList
	if err := r.Client.List(ctx, &triggers, client.MatchingFields{triggersBySource: source}); err != nil {
		return "", fmt.Errorf("list FluxTriggers with an operation on GitRepository %s: %w", source, err)
	}
	for i := range triggers.Items {
		if o := &triggers.Items[i]; o.UID != t.UID {
			return o.Namespace + "/" + o.Name, nil
		}
	}
	c, taken := r.memory.claimed(source, t.UID)
	switch {
	case !taken:
		return "", nil
	case c.writing:
		return c.trigger.String(), nil
	}
	o, err := get(ctx, r.Live, c.trigger, &v1alpha1.FluxTrigger{})
	if err != nil {
		return "", err
	}
	if o != nil && o.UID == c.uid && uses(o) == source {
		return c.trigger.String(), nil
	}
	r.memory.drop(source, c.uid)
	return "", nil
}

// uses returns the source that the trigger's operation in flight uses; empty when there is none.
func uses(t *v1alpha1.FluxTrigger) string {
	op := t.Status.Operation
	if op == nil || op.Phase.Final() {
		return ""
	}
	return op.SourceRef
}

// records returns the source on which the action records an operation of its own accord; empty when it records none.
func records(t *v1alpha1.FluxTrigger, next *v1alpha1.FluxTriggerStatus) string {
	if next == nil || next.Operation == nil || next.Operation.Phase != v1alpha1.OperationRequested || uses(t) != "" {
		return ""
	}
	return next.Operation.SourceRef
}

func keyOf(t *v1alpha1.FluxTrigger) types.NamespacedName {
	return types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
}
