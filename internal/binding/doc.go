// Package binding decides whether a trigger has a GitTarget to act for.
//
// A trigger holds an applier so that edits of the live objects reach the repository before the applier overwrites them.
// That is only so when some GitTarget that names the trigger writes the very repository and branch the applier fetches, for
// the same cluster. Both programs ask here: the holder before it touches an applier, gitmirror before it calls a trigger
// usable for a GitTarget. Nothing is judged from a GitTarget's own conditions, so that the two cannot wait for each other.
package binding
