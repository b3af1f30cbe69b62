// Package controller is gitmirror's shell towards the cluster it is configured in: it reads gitmirror's kinds, asks the
// cores what their conditions say and whether an apply is due, and writes the answers.
//
// It decides nothing itself: conditions come from gitmirror/conditions, requests from gitmirror/apply, and what is
// mirrored goes through gitmirror/mirror. Each pass makes at most one status write.
package controller
