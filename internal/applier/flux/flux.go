package flux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/applier"
)

// Applier writes through client, which need not cache: nothing is read.
type Applier struct {
	client client.Client
}

var _ applier.Applier = Applier{}

// New returns an Applier that writes through c.
func New(c client.Client) Applier { return Applier{client: c} }

// Suspend applies the whole hold: spec.suspend true, held-by, the finalizer and the token, and who is taken back.
func (a Applier) Suspend(ctx context.Context, t applier.Target, h applier.Hold) error {
	_, err := a.apply(ctx, "suspend", kustomizationKind, t,
		fields{suspend: new(true), finalizer: true, heldBy: h.By, token: h.Token, resumedBy: h.ResumedBy})
	return err
}

// Resume applies the same fields with spec.suspend false, so that the holder stays their owner.
func (a Applier) Resume(ctx context.Context, t applier.Target, heldBy, token string) error {
	_, err := a.apply(ctx, "resume", kustomizationKind, t, fields{suspend: new(false), finalizer: true, heldBy: heldBy, token: token})
	return err
}

// Release first applies spec.suspend false by force: giving the field up at once would leave it true where somebody else
// owns it too. The finalizer stays until then, so that a Kustomization being deleted does not go in between. The second
// write follows the first and nothing else: should it arrive late, it must not take anything away that came since.
func (a Applier) Release(ctx context.Context, t applier.Target) error {
	resumed, err := a.apply(ctx, "release", kustomizationKind, t, fields{suspend: new(false), finalizer: true})
	if err != nil {
		return err
	}
	t.ResourceVersion = resumed.GetResourceVersion()
	return a.GiveUp(ctx, t)
}

// GiveUp applies nothing, which gives up every field. A finalizer that somebody else applied too would stay, and keep the
// Kustomization from ever being deleted; it is taken out.
func (a Applier) GiveUp(ctx context.Context, t applier.Target) error {
	left, err := a.apply(ctx, "give up", kustomizationKind, t, fields{})
	if err != nil || !slices.Contains(left.GetFinalizers(), v1alpha1.HoldFinalizer) {
		return err
	}
	patch := client.MergeFromWithOptions(left.DeepCopy(), client.MergeFromWithOptimisticLock{})
	left.SetFinalizers(slices.DeleteFunc(left.GetFinalizers(), func(f string) bool { return f == v1alpha1.HoldFinalizer }))
	return wrap("take the finalizer off Kustomization", t, a.client.Patch(ctx, left, patch, client.FieldOwner(v1alpha1.HolderFieldManager)))
}

// Freeze applies spec.suspend true and the token to a GitRepository.
func (a Applier) Freeze(ctx context.Context, source applier.Target, token string) error {
	_, err := a.apply(ctx, "freeze", gitRepositoryKind, source, fields{suspend: new(true), token: token})
	return err
}

// Thaw gives both fields up. The source stays suspended where somebody else suspended it too.
func (a Applier) Thaw(ctx context.Context, source applier.Target) error {
	_, err := a.apply(ctx, "thaw", gitRepositoryKind, source, fields{})
	return err
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

var (
	kustomizationKind = kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind)
	gitRepositoryKind = sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind)
)

// apply returns the object as it is afterwards.
func (a Applier) apply(ctx context.Context, step string, gvk schema.GroupVersionKind, t applier.Target, f fields) (*unstructured.Unstructured, error) {
	object := body(gvk, t, f)
	err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(v1alpha1.HolderFieldManager), client.ForceOwnership)
	return object, wrap(step+" "+gvk.Kind, t, err)
}

// wrap names the step, and tells a target that moved from everything else. An apply to an object that is gone, or that has
// another uid, comes back as a conflict or as an object with invalid fields, by version of the API server. A policy that
// denies the write comes back as invalid too, and names no field.
func wrap(step string, t applier.Target, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsInvalid(err) && namesField(err):
		return fmt.Errorf("%s %s: %w: %w", step, t.NamespacedName, applier.ErrMoved, err)
	}
	return fmt.Errorf("%s %s: %w", step, t.NamespacedName, err)
}

func namesField(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}
