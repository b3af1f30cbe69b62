// Package notify posts events to the address Flux's controllers post theirs to, which is notification-controller's.
//
// A post is news of something that is done already. So it never makes anybody wait: Post puts the event into a bounded
// queue and returns, one worker sends what is in it, in order, and what cannot be sent is counted and let go. Nothing is
// kept over a restart; the trigger's status is where the truth is.
//
// The endpoint takes a POST of an Event of event.toolkit.fluxcd.io as JSON on any path, and answers 202; it answers 429 to
// an event it has had within the last five minutes, and 400 to one it cannot read
// (fluxcd/notification-controller, internal/server/event_server.go).
package notify
