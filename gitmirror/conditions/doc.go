// Package conditions decides what the conditions of gitmirror's own kinds say.
//
// It is handed what the reconcilers read and found, and returns whole condition lists. It never reads a cluster or a
// repository, and it is the one place in gitmirror where Ready is worked out.
package conditions
