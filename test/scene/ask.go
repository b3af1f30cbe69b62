package scene

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Ask writes a request for the commit, which is on main, on the team's trigger, as gitmirror does.
func (t *Team) Ask(ctx context.Context, id, commit string) error {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "FluxTrigger",
		"metadata": map[string]any{"namespace": t.Name, "name": "web"},
		"status": map[string]any{"request": map[string]any{
			"id": id, "reason": "Publish", "commit": commit, "revision": "main@sha1:" + commit,
			"requestedAt": time.Now().UTC().Format(time.RFC3339),
		}},
	}}
	return t.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.MirrorFieldManager))
}
