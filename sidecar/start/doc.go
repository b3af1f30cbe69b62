// Package start keeps a holder from standing in the way of its own controller.
//
// A holder is a native sidecar, and its startup probe asks /startz: until that passes, kubelet does not start
// kustomize-controller. Gate passes once the holder is ready, so that somebody looks after what is held before the controller
// applies anything; and at the latest when its bound is over, counted from the beginning of the process, because a holder
// that lacks a right or finds no API server would otherwise be an outage of Flux that Holdfast made. Nothing is resumed by
// that: what was held is suspended in the API and stays so.
//
// Server answers from the first moment of the process to its last, whatever becomes of the holder meanwhile. Caches says in
// words what the holder still waits for. None of them decides anything about an applier.
package start
