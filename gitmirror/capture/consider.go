package capture

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// placedLabel is on every object kustomize-controller applied.
const placedLabel = "kustomize.toolkit.fluxcd.io/name"

// derived are the kinds that controllers make, also where no owner reference says so.
var derived = map[schema.GroupKind]bool{
	{Kind: "Endpoints"}:                                   true,
	{Kind: "Event"}:                                       true,
	{Group: "events.k8s.io", Kind: "Event"}:               true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:    true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:         true,
	{Group: "apps", Kind: "ControllerRevision"}:           true,
	{Group: "metrics.k8s.io", Kind: "PodMetrics"}:         true,
	{Group: "storage.k8s.io", Kind: "CSIStorageCapacity"}: true,
}

// Seen is one event of a watch stream.
type Seen struct {
	// Resource is the plural name of the objects' kind.
	Resource string

	// Old and New are the states before and after; nil: there was none, there is none. At least one is set.
	Old, New *unstructured.Unstructured

	// Initial is true for an object that was there as the watch began, Replayed for a change that was found by comparing
	// states, which several requests may have made.
	Initial, Replayed bool
}

// Candidate is a change that is an edit unless the applier made it.
type Candidate struct {
	// Key is what a fact about the change must be about.
	Key fact.Key

	// Initial is true where no fact is needed, because nobody is named.
	Initial bool

	intent   manifest.Intent
	replayed bool
	writers  writers
}

// Consider returns what of an event may be an edit, or why nothing of it is. The first rule that matches wins.
func Consider(s Seen) (Candidate, Skip) {
	obj := s.New
	if obj == nil {
		obj = s.Old
	}
	switch gvk := obj.GroupVersionKind(); {
	case gvk.Group == "" && gvk.Kind == "Secret":
		return Candidate{}, SecretNotMirrored
	case derived[gvk.GroupKind()], manifest.Controlled(obj.Object), gvk.Group == "" && gvk.Kind == "ConfigMap" && obj.GetName() == "kube-root-ca.crt":
		return Candidate{}, Derived
	case s.New == nil:
		in := intent(s.Resource, obj)
		return Candidate{Key: fact.DeletionOf(obj.GetUID()), replayed: s.Replayed, intent: manifest.Intent{Object: in.Object, Resource: in.Resource, Gone: true}}, ""
	case obj.GetDeletionTimestamp() != nil:
		return Candidate{}, BeingDeleted
	}
	c := Candidate{
		Key:     fact.Key{UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()},
		Initial: s.Initial, replayed: s.Replayed,
		intent: intent(s.Resource, obj),
	}
	if s.Old == nil {
		c.writers = writersBetween(nil, obj)
		if !s.Initial && !c.writers.applierAlone() {
			c.intent.Create = true // somebody made it, with the applier's label: a copy of what the applier placed
		}
		if !c.intent.Create {
			return Candidate{}, PlacedByApplier
		}
		c.intent.Made = !s.Initial
		return c, ""
	}
	c.intent.Changes = manifest.Diff(manifest.Sanitize(s.Old.Object), c.intent.Whole)
	if len(c.intent.Changes) == 0 {
		return Candidate{}, Unchanged
	}
	c.writers = writersBetween(s.Old, obj)
	return c, ""
}

// intent returns what Git should say of an object, without any change yet. A document may be made for it unless the
// applier placed it: then Git had one, and whoever took it out wants the object gone.
func intent(resource string, obj *unstructured.Unstructured) manifest.Intent {
	gvk := obj.GroupVersionKind()
	_, placed := obj.GetLabels()[placedLabel]
	return manifest.Intent{
		Object:   manifest.Identity{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()},
		Resource: resource,
		Whole:    manifest.Sanitize(obj.Object),
		Create:   !placed,
	}
}
