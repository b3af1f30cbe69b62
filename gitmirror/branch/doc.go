// Package branch turns edits into commits on one branch of one repository. A branch worker, one goroutine, owns the branch:
// nobody else in this program reads its tip to decide something or writes to it.
//
// An edit waits in a commit window (package window). A window that closes becomes a write: one author, one target, one
// commit. Writes are planned on the newest tip known, in order, and pushed together as a compare-and-swap. What a write
// wants is kept until the remote branch shows it:
//
//	        windows close          plan, commit            push
//	edits ───────────────► writes ─────────────► commits ────────► settled
//	                         ▲                      │  moved, rejected, no answer
//	                         └──── fetch, look ◄────┘
//	                           for what arrived
//
// A lost answer never doubles a commit and never forgets one: before a write is planned again the remote history is searched
// for the commit's hash, and for the trailer that names the write, which every commit made for it carries.
//
// Step is the core: it folds events into the State and says what to do next, one thing at a time. Worker is the shell: it
// takes edits, performs, and reports. The core records which writes a push carries before it asks for the push.
//
// The package never decides what a file should say (package manifest), when an apply is due, or who made an edit. It keeps
// writes in memory; whoever feeds it edits reads the cluster again after a restart.
package branch
