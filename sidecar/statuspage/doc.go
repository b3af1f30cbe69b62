// Package statuspage shows what a holder holds, on the port of its metrics: as a page at /, and as JSON at /status.
//
// Build decides what is said, from the triggers as they are, and Draw how the page says it; both have no state and ask
// nobody. Page reads the triggers from the cache when somebody looks, draws once for all who do, and tells open pages of
// what changed. While nobody looks it does nothing. What is shown says nothing that the triggers' own statuses do not say:
// it puts them side by side, for a person with a port-forward and for programs beside the holder. docs/status.md describes
// it.
//
// It names namespaces, commits and people, so only a peer on the loopback interface gets it. It changes nothing: there is
// no write behind any of its addresses, and no cookie.
package statuspage
