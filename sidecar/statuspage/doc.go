// Package statuspage shows what a holder holds, as JSON at /status on the port of its metrics.
//
// Build decides what is shown, from the triggers as they are; it has no state and asks nobody. Handler reads the triggers
// from the cache and answers. The document says nothing that the triggers' own statuses do not say: it puts them side by
// side, for a person with a port-forward and for programs beside the holder. docs/status.md describes it.
//
// It names namespaces, commits and people, so only a peer on the loopback interface gets it.
package statuspage
