// Package apiserver is an API server in memory, for simulations that must be fast and must repeat exactly.
//
// It keeps what the decisions of a controller hang on as the real one does: resourceVersion, generation, uid, finalizers and
// deletionTimestamp, the status subresource, who owns which field, and the errors that tell a writer it was wrong. Field
// ownership is not imitated: it is the server's own code (k8s.io/apimachinery/pkg/util/managedfields), fed with the schemas
// of the CustomResourceDefinitions, so that lists merge by key and sets as sets.
//
// A Cache is what an informer would have: it follows the server kind by kind, and only as far as it is told to.
//
// Left out: validation by schema, admission, authorization, other versions, watches over a connection. Nothing here reads a
// clock, starts a goroutine or rolls dice. Package test/facts holds what is claimed here against a real API server.
package apiserver
