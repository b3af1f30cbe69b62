// Package apply decides when an apply is due and why, and whether a holder is there to carry it out.
//
// It looks at one branch and one trigger and answers with a request to write, or with how long to wait. It never writes
// the request, never fetches, and knows no clock: the shell in gitmirror/controller does all that, and passes the time in.
//
// An apply is due when the trigger holds its applier, the branch has been quiet for the trigger's quiet period with no
// work in hand, nobody else's operation is in flight, and the tip is not the commit the newest answer says is applied.
// Requests are never withdrawn: a newer one takes the place of an older one.
//
// A holder is missing when its Lease is not renewed or a request gets no answer. Both are measured by what this process has
// seen and for how long, never by the times other machines write.
package apply
