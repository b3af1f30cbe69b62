// Package repourl says which URLs name the same repository.
//
// Two programs compare what one of them writes with what an applier fetches, and people write one address in many ways:
// over ssh or https, with or without .git, with credentials in front. Equal means the same host and the same path. It
// never asks a server, so a redirect, a mirror or a second host name is another repository.
package repourl
