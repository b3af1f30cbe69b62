// Package inject decides whether a pod gets a holder, and writes the patch that puts it there.
//
// It is handed a pod as the API server sends it to a webhook, or as a file says it, and the policy of whoever runs the
// injector. It recognises the pods of two controllers by what all their installs have in common, and no others. What it
// adds is one container at the end of the init containers, which kubelet starts before the controller and stops after it
// because it restarts always, and one annotation. Everything the container is told about its controller is read from that
// controller's own command, arguments and environment.
//
// It never changes or moves what is there, never refuses a pod, and reads nothing but its arguments. A pod it is not sure
// of is left alone with a reason: without a holder nothing is applied that is held, with a wrong one it might be.
package inject
