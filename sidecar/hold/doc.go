// Package hold decides what the holder does next for one trigger.
//
// Decide looks at what was read in one pass and returns one Action: at most one effect, and what the trigger's status says
// once that effect is done. It holds no state, reads no clock, makes no token and performs nothing, so that every rule is a
// row in a table and a restart loses nothing: what the next pass needs is in the API.
//
// The hold itself, from the Kustomization's side:
//
//	            adopt: suspend + held-by + token            token handled
//	free ───────────────────────────────────────► Suspending ─────────────► Suspended ◄──────────┐
//	  ▲                                               ▲  ▲                    │    │             │
//	  │   somebody resumed it: an External operation, │  └────────────────────┘    │ request     │ verdict
//	  │   and suspend again                           │                            ▼             │
//	  └── Releasing ◄── trigger deleted, or no GitTarget names it             Applying ──────────┘
//
// One operation inside Applying. T1 resumes and is the operation's identity, T2 suspends:
//
//	Requested ── resume with T1 ──► Running ── a run is seen started ──► Settling ── T2 handled ──► Succeeded
//	    │                              │          suspend with T2          │   ▲                    or Failed
//	    │ no longer possible           │ 5 minutes without a start,        │   │ resumed, stamped over, or another
//	    │                              │ unfollowed, or leaving            │   │ controller leads: suspend again
//	    │                              └────────────── suspend ───────────►┤   │
//	    └──────────────────────────────────────────── suspend ────────────►┤   └── Unresolved ◄── 5 minutes
//	                                                                       └── no trace of a run: withdrawn, answered
//
// An External operation begins where T2 is sent. A Deletion is resumed and never suspended: it ends when Flux has let the
// Kustomization go. Where a suspend would disturb a run (Controller.CancelsHealthChecks) the source is frozen between record
// and verdict, and T2 follows the end of the run.
//
// The rules that order everything else:
//
//   - The record precedes the resume. Decide resumes only from phase Requested, read back from the API, with the token of
//     that record; so a crash may leave a record nobody resumed, never a resume nobody recorded.
//   - The suspend follows the start, not the end. A started run is not stopped by a suspend, and a suspended Kustomization
//     starts no second one: a push fetched during the run waits. Waiting for T1 to be handled would let it in.
//   - Handled is not applied. kustomize-controller records a token on every return, also when it did nothing. T2 handled only
//     proves that no run is left; Judge says what the run did, from what moved against the baseline in the record.
//   - Identity is the token, never a time. Times are whole seconds and clocks differ.
//   - A withdrawal follows a suspend. A resume that was sent and never answered may still be on its way; it does not pass
//     the resourceVersion of a later write.
//   - What moves at rest was not ours. The status of a held Kustomization is kept, and compared whenever it is looked at.
//   - First matching rule wins, in this order: who does not lead stands by; an operation in flight is followed to its end,
//     because a resumed Kustomization that nobody watches is worse than any refusal; then a Kustomization being deleted gets
//     what was decided for it; then a trigger that is leaving hands back; then what others resumed is taken back; then
//     refusals; then the hold is made good; and only what is held serves a request.
//
// It never applies anything to the cluster's workloads, and never judges the content of a commit.
package hold
