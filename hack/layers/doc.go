// Package layers holds the rules about who may import whom, and checks the source tree against them.
//
// It decides from the source text alone: a file is parsed, never built, so a package that does not compile is judged all
// the same. It knows four kinds of rule. A pure core imports no client, clock, network or logger and rests only on other
// cores and the API. Some modules have one owner, such as go-git. The programs do not import each other. The API imports
// nothing of ours. The linter's configuration repeats the rules an editor can show; this package is the one that counts,
// because it needs nothing but Go and runs with the unit tests.
//
// Test files are exempt: a test may use whatever proves its point.
package layers
