// Package statusapply writes the part of a status that one program owns, the only way it is ever written: by server-side
// apply under the program's own field manager, never by force, and only onto the very object that was read, as it was read.
//
// It decides nothing. What a status says comes from the cores of both programs.
package statusapply
