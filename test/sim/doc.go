// Package sim runs the real holder against an API server and a kustomize-controller that are simulated, in every order a
// scheduler can think of, and checks after every step that the promises are kept.
//
// The holder is sidecar/controller.Reconciler itself, with the real applier: each of its writes, and each of its reads from
// the API server, is a step, and so is each effect of kustomize-controller (package flux), each change that reaches
// somebody's cache, each thing a person does and each push. A seed decides what comes next, what fails and who is killed;
// the same seed gives the same run. After the trouble everybody is left alone until nothing moves any more, because what
// is promised for the end can only be seen there.
//
// What is promised:
//
//   - Nothing is applied outside a recorded operation, except by somebody an Event names; and that is suspended again.
//   - An operation that says Succeeded applied that commit, in full, while it was the operation's turn.
//   - Nothing stays resumed and unwatched.
//   - Handing back ends, whatever became of everything else.
//
// Whether a promise is kept is told from the truth, which the simulated controller keeps beside its statuses, and never
// from what a status says. A seed that breaks a promise prints what happened; `-sim.seed=N` plays it again.
package sim
