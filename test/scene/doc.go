// Package scene furnishes a running world with what a team that uses Holdfast has: a namespace, a repository, a
// GitRepository and a Kustomization of Flux, and the five objects that make Holdfast hold it. The demo, the end-to-end
// stories and the benchmarks start from it.
//
// Waiting is done by watching what the real programs write; every wait is bounded and, when it is over, says what was
// seen last.
package scene
