package main

// inTheSimulator take out the guards that only an unlucky order of events needs. The simulator brings each of those orders
// about, and finds the promise that breaks by what really happened in it.
var inTheSimulator = []Mutant{
	{
		Name:    "simulated-resume-before-the-record",
		Promise: "Nothing is applied outside a recorded operation.",
		File:    "sidecar/hold/request.go",
		Old:     `return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}`,
		New:     `return s.resume(op)`,
		Dir:     "test",
		Package: "./sim",
		Run:     "^TestGuards$",
	},
	{
		Name:    "simulated-no-suspend-at-the-start",
		Promise: "The run that was started is the only one: what is pushed meanwhile is not applied.",
		File:    "sidecar/hold/verdict.go",
		Old:     `return c != nil && c.Status == metav1.ConditionTrue &&`,
		New:     `return false && c.Status == metav1.ConditionTrue &&`,
		Dir:     "test",
		Package: "./sim",
		Run:     "^TestGuards$",
	},
	{
		Name:    "simulated-resume-unguarded",
		Promise: "A resume that arrives when its operation is over resumes nothing.",
		File:    "sidecar/hold/operation.go",
		Old:     `act.Verb, act.Token, act.Guarded = Resume, op.Token, true`,
		New:     `act.Verb, act.Token = Resume, op.Token`,
		Dir:     "test",
		Package: "./sim",
		Run:     "^TestGuards$",
	},
	{
		Name:    "simulated-no-baseline",
		Promise: "What was applied before an operation was recorded does not make it Succeeded.",
		File:    "sidecar/hold/verdict.go",
		Old:     "	now := BaselineOf(k)\n	ready :=",
		New:     "	op = &v1alpha1.Operation{Commit: op.Commit}\n	now := BaselineOf(k)\n	ready :=",
		Dir:     "test",
		Package: "./sim",
		Run:     "^TestGuards$",
	},
	{
		Name:    "simulated-no-fresh-suspend-after-a-change-of-leader",
		Promise: "No verdict is given while a kustomize-controller that has lost its lease may still write.",
		File:    "sidecar/hold/operation.go",
		Old:     `another := op.Controller != c.Leader`,
		New:     `another := false`,
		Dir:     "test",
		Package: "./sim",
		Run:     "^TestGuards$",
	},
}
