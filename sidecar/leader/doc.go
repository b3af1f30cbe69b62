// Package leader tells a holder whether the kustomize-controller of its own pod leads, and tells everybody else that the
// holder is there.
//
// A holder sits beside one kustomize-controller and starts operations only while that one leads: a run that a standby asked
// for would be followed by another process than the one it can vouch for. Watcher reads it off the controller's own Lease;
// it takes part in no election and never writes that Lease. Heartbeat is the holder's own sign of life, a Lease that
// gitmirror watches.
//
// A new leader does not end what the old one began. A process that was paused past its Lease may still have a request on
// its way, and handling a token later proves nothing about it. State says therefore for how long the present leader has been
// seen, by this process's own monotonic clock: the times in a Lease are another machine's, which may be minutes off. Once
// that is longer than one Lease lasts, nothing of the old leader can come any more.
//
// Neither part decides what follows from it; package hold does.
package leader
