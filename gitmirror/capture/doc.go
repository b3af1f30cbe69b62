// Package capture decides which of the changes a watch brings are edits that Git should have.
//
// It judges twice. Consider looks at two consecutive live states and says whether anything changed that belongs into Git
// at all; what does not need not wait for its author. Decide then knows who is proven to have made the change, if
// anybody is, and tells an edit from a write of the applier: what the applier writes comes from Git, and committing it
// would put a revert into history as if somebody had wanted it.
//
// An edit is what changed between the two states and never the whole object. A value that was changed in Git and is not
// applied yet is old in both of them, so it stays what Git says. For the same reason an object that is there when the
// watch begins is written only where Git has no document of it, and one the applier placed is not even then: its document
// may have been taken out of Git by a push that is not applied yet.
//
// It never looks into Git and never decides where in a document a change belongs.
package capture
