// Package mirror runs what gitmirror is for: it leads each change of a watched object through attribution to the branch
// worker that commits it.
//
//	watch.Streams ─► capture.Consider ─► audit.Joiner ─► capture.Decide ─► branch.Worker
//	   one a resource   what changed       who did it      is it an edit     one a branch
//
// It starts and stops these parts as targets come and go, and tells how a target does. It decides nothing: what is an
// edit is decided in gitmirror/capture, what becomes a commit in gitmirror/branch.
package mirror
