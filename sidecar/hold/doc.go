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
//	  │            somebody resumed it: suspend again │  └────────────────────┘    │ request     │ verdict
//	  │                                               │                            ▼             │
//	  └── Releasing ◄── trigger deleted, or no GitTarget names it             Applying ──────────┘
//
// One operation inside Applying. T1 resumes and is the operation's identity, T2 suspends:
//
//	Requested ── resume with T1 ──► Running ── a run is seen started ──► Settling ── T2 handled ──► Succeeded
//	    │                              │          suspend with T2           │                       or Failed
//	    │ no longer possible           │ 5 minutes without a start          │ resumed or stamped
//	    ▼                              └────────────── suspend ────────────►┘ over: suspend again
//	withdrawn: never resumed, answered
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
//   - First matching rule wins, in this order: an operation in flight is followed to its end, because a resumed Kustomization
//     that nobody watches is worse than any refusal; then a trigger that is leaving hands back; then refusals; then the hold
//     is made good; and only what is held serves a request.
//
// It never applies anything to the cluster's workloads, and never judges the content of a commit.
package hold
