package flux

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/applier"
)

// Applier writes through client, which need not cache: nothing is read.
type Applier struct {
	client client.Client
}

var _ applier.Applier = Applier{}

// New returns an Applier that writes through c.
func New(c client.Client) Applier { return Applier{client: c} }

// Suspend applies the whole hold: spec.suspend true, held-by and the token.
func (a Applier) Suspend(ctx context.Context, t applier.Target, heldBy, token string) error {
	return a.apply(ctx, "suspend", t, fields{suspend: new(true), heldBy: heldBy, token: token})
}

// Resume applies the same fields with spec.suspend false, so that the holder stays their owner.
func (a Applier) Resume(ctx context.Context, t applier.Target, heldBy, token string) error {
	return a.apply(ctx, "resume", t, fields{suspend: new(false), heldBy: heldBy, token: token})
}

// Release first applies spec.suspend false by force: giving the field up at once would leave it true where somebody else
// owns it too. Then it gives up everything.
func (a Applier) Release(ctx context.Context, t applier.Target) error {
	if err := a.apply(ctx, "release", t, fields{suspend: new(false)}); err != nil {
		return err
	}
	t.ResourceVersion = ""
	return a.apply(ctx, "give up", t, fields{})
}

// Fetch patches the requestedAt annotation of a GitRepository and nothing else.
func (a Applier) Fetch(ctx context.Context, source applier.Target, token string) error {
	metadata := map[string]any{"uid": source.UID, "annotations": map[string]string{meta.ReconcileRequestAnnotation: token}}
	if source.ResourceVersion != "" {
		metadata["resourceVersion"] = source.ResourceVersion
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("fetch GitRepository %s: %w", source.NamespacedName, err)
	}
	g := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
	err = a.client.Patch(ctx, g, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.HolderFieldManager))
	return wrap("fetch GitRepository", source, err)
}

func (a Applier) apply(ctx context.Context, step string, t applier.Target, f fields) error {
	err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(body(t, f)),
		client.FieldOwner(v1alpha1.HolderFieldManager), client.ForceOwnership)
	return wrap(step+" Kustomization", t, err)
}

// wrap names the step, and tells a target that moved from everything else. An apply to an object that is gone, or that has
// another uid, comes back as a conflict or as an invalid new object, by version of the API server.
func wrap(step string, t applier.Target, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		return fmt.Errorf("%s %s: %w: %w", step, t.NamespacedName, applier.ErrMoved, err)
	}
	return fmt.Errorf("%s %s: %w", step, t.NamespacedName, err)
}
