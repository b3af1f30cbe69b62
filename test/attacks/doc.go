// Package attacks checks that what the documents say is tested is tested: README.md here lists every story labelled attack,
// docs/pitfalls.md names tests that exist, a page with shell blocks has a test that runs them, and the guide for an install says
// which versions the tests run with. The stories themselves are in test/e2e, where the world is.
package attacks
