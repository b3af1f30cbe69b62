// Package attacks checks that what the documents say is tested is tested: README.md here lists every story labelled attack,
// and docs/pitfalls.md names tests that exist. The stories themselves are in test/e2e, where the world is.
package attacks
