// Package gitserver is a real Git server on loopback: git http-backend, the program behind many hosted servers, run as
// CGI by net/http, with basic authentication.
//
// Suites use it as the remote of gitmirror and of Flux, and decide what it does: a hook that refuses pushes, an outage,
// a commit by somebody else. What it answers comes from git itself, never from this package, so that a client that
// works here works elsewhere; only who may enter is decided here (401 without a known name and password, 404 for a
// repository that does not exist).
//
// Commits made with Commit go into the repository directly, not through the network: somebody else's push arrives
// whatever the hook or the outage does to us.
package gitserver
