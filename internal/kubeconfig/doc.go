// Package kubeconfig finds the API server for the programs that run in a pod, and says in words when there is none to find. It
// calls nobody.
package kubeconfig
