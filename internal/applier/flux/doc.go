// Package flux writes to Kustomizations and GitRepositories for the holder, and for the command that hands them back.
//
// A Kustomization is only ever written by server-side apply, and every apply comes from one builder: what a manager leaves
// out of an apply it gives up, so a second builder that forgets a field would let it go. A GitRepository belongs to others;
// one annotation on it is patched and nothing is owned.
package flux
