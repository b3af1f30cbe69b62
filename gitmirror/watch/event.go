package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope names one stream: the objects of a resource in a namespace; empty: in all, or a cluster-scoped resource.
type Scope struct {
	Resource  schema.GroupVersionResource
	Namespace string
}

// String returns the scope as people read it: `deployments.apps in team-a`.
func (s Scope) String() string {
	if s.Namespace == "" {
		return s.Resource.GroupResource().String()
	}
	return s.Resource.GroupResource().String() + " in " + s.Namespace
}

// Type says what happened to an object.
type Type string

const (
	// Initial: the object is there as the subscription begins.
	Initial Type = "Initial"

	// Added: the object was made.
	Added Type = "Added"

	// Modified: the object was changed.
	Modified Type = "Modified"

	// Deleted: the object is gone.
	Deleted Type = "Deleted"
)

// Event is one change of one object. Its objects are shared and must not be written to.
type Event struct {
	Type Type

	// Replayed is true for what happened while the stream was cut and was found by comparing states. More than one
	// request may be behind it.
	Replayed bool

	// Old is the state before, nil for Initial and Added; New the state after, nil for Deleted.
	Old, New *unstructured.Unstructured
}

// Status says how a stream is.
type Status struct {
	// Synced is true once the objects were read in full; it stays true while a cut stream is resumed.
	Synced bool

	// Err is why the stream does not run at this moment, as the API server said it; nil: it runs, or is starting.
	// apierrors.IsForbidden and its like can judge it. It is tried again, at most 20 s later.
	Err error
}

// Running says whether every change arrives.
func (s Status) Running() bool { return s.Synced && s.Err == nil }
