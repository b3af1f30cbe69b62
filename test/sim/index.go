package sim

import (
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
)

// indexes are those the holder asks its cache for. One it uses and that is not here fails the pass that asks for it.
var indexes = []apiserver.Index{
	{Of: v1alpha1.GroupVersion.WithKind("FluxTrigger"), Field: "spec.kustomizationRef", Keys: func(o client.Object) []string {
		return []string{types.NamespacedName(o.(*v1alpha1.FluxTrigger).Spec.KustomizationRef).String()}
	}},
	{Of: v1alpha1.GroupVersion.WithKind("FluxTrigger"), Field: "spec.kubeProviderRef", Keys: func(o client.Object) []string {
		return []string{o.(*v1alpha1.FluxTrigger).Spec.KubeProviderRef.Name}
	}},
	{Of: v1alpha1.GroupVersion.WithKind("FluxTrigger"), Field: "status.operation", Keys: func(o client.Object) []string {
		if op := o.(*v1alpha1.FluxTrigger).Status.Operation; op != nil && !op.Phase.Final() {
			return []string{op.SourceRef}
		}
		return nil
	}},
	{Of: v1alpha1.GroupVersion.WithKind("GitTarget"), Field: "spec.applyTriggerRef", Keys: func(o client.Object) []string {
		if ref := o.(*v1alpha1.GitTarget).Spec.ApplyTriggerRef; ref != nil {
			return []string{ref.Name}
		}
		return nil
	}},
	{Of: v1alpha1.GroupVersion.WithKind("GitTarget"), Field: "spec.gitProviderRef", Keys: func(o client.Object) []string {
		return []string{o.(*v1alpha1.GitTarget).Spec.GitProviderRef.Name}
	}},
	{Of: kustomizev1.GroupVersion.WithKind(kustomizev1.KustomizationKind), Field: "spec.sourceRef", Keys: func(o client.Object) []string {
		k := o.(*kustomizev1.Kustomization)
		if k.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind {
			return nil
		}
		return []string{hold.SourceOf(k).String()}
	}},
}

// object returns an object of the server; nil when it is not there.
func (w *World) object(gvk schema.GroupVersionKind, key types.NamespacedName) *apiserver.Object {
	o, err := w.Server.Get(w.kind(gvk), key)
	if err != nil {
		return nil
	}
	return o
}

// kind returns a kind the server has.
func (w *World) kind(gvk schema.GroupVersionKind) *apiserver.Kind {
	k, err := w.Server.Kind(gvk)
	if err != nil {
		panic(err)
	}
	return k
}
