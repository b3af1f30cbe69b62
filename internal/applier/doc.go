// Package applier says what is done to an applier by whoever holds it, whatever kind of applier it is.
//
// It is the seam between the shell that decides when and the packages below that know how. Every write names the object by
// uid, so that one made anew under the same name is never touched by mistake.
package applier
