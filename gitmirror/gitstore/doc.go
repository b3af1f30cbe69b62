// Package gitstore reads and writes one Git repository over HTTP: tips, trees, commits and pushes. It is the only package
// that knows go-git.
//
// It decides nothing about when to write or what. It promises three things:
//
//   - A commit costs what it changes. Blobs and trees go straight into a bare object store; there is no worktree and no
//     index, and a subtree that a commit does not touch is neither read nor written.
//   - A push is a compare-and-swap. The server is told the hash the branch must have now, gets a pack of exactly the objects
//     the new commits made, and the verdict is what the remote branch says afterwards, never the server's report: servers
//     word a lost race in different ways, and some report a push that a rule took back.
//   - Nothing escapes. Paths with "..", ".git" or a symlink on the way are refused for reading and writing, redirects to
//     other hosts are not followed, answers are bounded, and no error text carries a credential.
//
// The store on disk is a cache of the remote. It may be deleted while nothing runs; commits that were not pushed are then
// made again by whoever asked for them.
package gitstore
