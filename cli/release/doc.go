// Package release decides how a Kustomization is handed back with no program of Holdfast running.
//
// It looks at one trigger and the Kustomization it holds, and names the next step; the shell in cli/command takes it, looks
// again, and asks again, until nothing is left to do. Every step is safe to repeat, so a run that was cut off is finished by
// the next one. A holder that runs has the first turn: it knows of an apply under way what nobody else does.
package release
