// Package controller is the holder's shell: it reads, asks hold.Decide, performs the one effect and writes the one status.
//
// A pass reads from the cache first. Only when its decision would write something does it read the trigger, the
// Kustomization and the GitRepository again from the API server and decide anew on those, so that a trigger at rest costs
// no request at all and no write rests on an old view. Each write is guarded by what was read; a write that finds the object
// moved writes nothing, and the pass begins again.
//
// It remembers nothing a restart may lose: the stopwatch of the metrics is the only memory. It judges nothing; a rule that
// wants to live here belongs into package hold.
package controller
