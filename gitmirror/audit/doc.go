// Package audit receives the audit events of an API server and joins the facts in them with what the watch observed.
//
// It decides nothing about content. Audit is evidence about who, never the record of what: the API server drops events
// when its own buffer is full, so a change without a fact is a change all the same, by nobody known.
//
// The receiver answers as soon as the facts of a batch are in the index, which is memory only, so that neither Git nor
// anything else behind it can slow an API server down. What does not fit is refused with 503 and sent again.
// Facts are looked up in the index and never passed on through a queue: a burst of them is bounded by the index alone.
//
// The index and what waits in the joiner are lost when the process ends; edits whose facts were lost with it are
// committed without a name.
package audit
