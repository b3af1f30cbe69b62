// Package webhook answers API servers that ask about a pod being made.
//
// It decides nothing: package inject does, and for a pod that is to have a holder it is told what the pod's namespace allows,
// which is read at that moment. It never refuses a pod. What cannot be decided, for whatever reason, a panic
// among them, is let through as it is, with a warning to whoever makes the pod, a line in the log and a count. It changes
// nothing but its answer, so a dry run is a call like any other. What a pod says beyond its name never gets into a log.
package webhook
