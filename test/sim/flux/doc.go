// Package flux imitates kustomize-controller v1.9.6 and source-controller v1.9.6 as far as somebody next to them can tell:
// which token they record and when, in which writes a status arrives, what starts a run and what does not, and what they do
// to an object that is being deleted.
//
// Each run is written in the order of the real code (kustomize-controller@v1.9.6/internal/controller, named at the
// functions below) and gives way between any two effects, so that a scheduler can kill it, delay it or let others come
// between. What a run did to the cluster is kept as ground truth, which no status can hide.
//
// Package test/facts asks the same questions of this package and of the real controllers.
package flux
