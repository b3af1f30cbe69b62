// Package window collects the edits of one author to one target until they are to become a commit.
//
// A commit window opens on the first edit. It closes when no edit came for the target's idle timeout, when it has been open
// for the target's maximum duration, when another author edits the same target, or when the target is told to close. So a
// target has at most one open commit window, every edit is in exactly one, and the windows of a target close in the order
// in which its edits came: the history reads as it happened.
//
// The package decides only what belongs together. It never looks into an edit, never drops or merges one, and knows neither
// Git nor the cluster. It reads no clock: timers run on the instants it is given. Those are instants of arrival, because when
// an edit was made is the API server's clock and only dates the commit.
package window
