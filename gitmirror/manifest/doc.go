// Package manifest turns what changed on a live object into edits of the YAML documents of one Git folder.
//
// It decides three things: what of a live object belongs into Git (Sanitize), what a person changed between two live
// states (Diff), and which bytes of which file say so (Index.Plan, which uses Scan, Edit and Render). It compares
// three ways: a change is the difference of two live states, and only that difference is written, so a value that was
// changed in Git and not yet applied stays what Git says.
//
// It never reads a cluster, a repository or a clock: files come through Tree, and the result is bytes for the caller to
// commit. It never writes what it has not verified: after every edit the file is parsed again, and must mean the old
// document plus the changes while every other document keeps its bytes. A change without an exact home (below an alias,
// an anchor or a merge key, in a list without names) is refused by name instead of guessed.
//
// Documents mean what Kubernetes clients take them to mean: values are read by sigs.k8s.io/yaml, a YAML 1.1 reader. The
// places of values in the text come from a second parser, go.yaml.in/yaml/v3; an edit on which the two disagree fails
// its verification.
package manifest
