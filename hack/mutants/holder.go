package main

import "slices"

// ofTheHolder take lines of defence out of sidecar/.
var ofTheHolder = slices.Concat(ofTheHoldersOrder, ofTheHoldersRules)

// ofTheHoldersOrder take out what orders the effects: the record, the resume, the suspend, the verdict.
var ofTheHoldersOrder = []Mutant{
	{
		Name:    "suspend-waits-for-the-end",
		Promise: "The suspend follows the start of a run, so that a push fetched meanwhile is not applied.",
		File:    "sidecar/hold/verdict.go",
		Old: `	if k.Status.LastHandledReconcileAt == op.Token || traces(op.Before, k) {
		return true
	}
	c := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == meta.ProgressingReason && c.ObservedGeneration == k.Generation
`,
		New: `	return k.Status.LastHandledReconcileAt == op.Token
`,
		Package: "./sidecar/hold",
		Run:     "^TestDecide$",
	},
	{
		Name:    "no-suspend-at-the-start",
		Promise: "The holder writes the suspend while the run it started still goes on.",
		File:    "sidecar/hold/verdict.go",
		Old:     `return c != nil && c.Status == metav1.ConditionTrue &&`,
		New:     `return false && c.Status == metav1.ConditionTrue &&`,
		Package: "./sidecar/controller",
		Run:     "^TestOneOperationWritesInThisOrder$",
	},
	{
		Name:    "resume-before-the-record",
		Promise: "An operation is recorded, and read back, before anything is resumed for it.",
		File:    "sidecar/hold/request.go",
		Old:     `return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}`,
		New:     `return s.resume(op)`,
		Package: "./sidecar/hold",
		Run:     "^TestDecide$",
	},
	{
		Name:    "resume-although-the-record-failed",
		Promise: "Nothing is resumed when the record of the operation could not be written.",
		File:    "sidecar/hold/request.go",
		Old:     `return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}`,
		New:     `return s.resume(op)`,
		Package: "./sidecar/controller",
		Run:     "^TestNothingIsResumedWhenTheRecordCannotBeWritten$",
	},
	{
		Name:    "resume-unguarded",
		Promise: "A resume is a compare-and-swap: it changes nothing that somebody changed since it was decided.",
		File:    "sidecar/hold/operation.go",
		Old:     `act.Verb, act.Token, act.Guarded = Resume, op.Token, true`,
		New:     `act.Verb, act.Token = Resume, op.Token`,
		Package: "./sidecar/hold",
		Run:     "^TestDecide$",
	},
	{
		Name:    "resume-over-a-change",
		Promise: "The resourceVersion that was read travels with a guarded write.",
		File:    "sidecar/controller/perform.go",
		Old:     `t.ResourceVersion = o.GetResourceVersion()`,
		New:     ``,
		Package: "./sidecar/controller",
		Run:     "^TestAResumeThatFindsTheKustomizationChangedDecidesAgain$",
	},
	{
		Name:    "apply-without-resource-version",
		Promise: "The body of a guarded write to a Kustomization carries the resourceVersion.",
		File:    "internal/applier/flux/body.go",
		Old:     `metadata["resourceVersion"] = t.ResourceVersion`,
		New:     ``,
		Package: "./internal/applier/flux",
		Run:     "^TestWrites$",
	},
	{
		Name:    "apply-without-uid",
		Promise: "A Kustomization made anew under the name of the old one is never written by mistake.",
		File:    "internal/applier/flux/body.go",
		Old:     `, "uid": string(t.UID)`,
		New:     ``,
		Package: "./internal/applier/flux",
		Run:     "^TestWrites$",
	},
	{
		Name:    "holder-status-without-resource-version",
		Promise: "The holder's status is a compare-and-swap: a newer request is never overlooked.",
		File:    "internal/statusapply/write.go",
		Old:     `u.SetResourceVersion(obj.GetResourceVersion())`,
		New:     ``,
		Package: "./sidecar/controller",
		Run:     "^TestAStatusThatChangedSinceIsReadAgain$",
	},
	{
		Name:    "write-on-what-the-cache-says",
		Promise: "A write is decided on what the API server says now and not on a cache that lags.",
		File:    "sidecar/controller/observe.go",
		Old:     `read = r.Live`,
		New:     `_ = r.Live`,
		Package: "./sidecar/controller",
		Run:     "^TestACacheThatLagsStartsNoSecondOperation$",
	},
	{
		Name:    "leave-a-foreign-resume",
		Promise: "A held Kustomization that somebody else resumed is suspended again.",
		File:    "sidecar/hold/decide.go",
		Old:     `case !s.suspendedByUs(), s.overwritten():`,
		New:     `case !s.heldByUs() || requested(s.Kustomization) == "":`,
		Package: "./sidecar/hold",
		Run:     "^TestDecide$",
	},
	{
		Name:    "handled-is-applied",
		Promise: "A handled token proves no apply; only what moved against the baseline does.",
		File:    "sidecar/hold/verdict.go",
		Old:     `case !traces(op.Before, k):`,
		New:     `case false:`,
		Package: "./sidecar/hold",
		Run:     "^TestJudge$",
	},
	{
		Name:    "a-start-without-a-bound",
		Promise: "A holder that does not get ready keeps its controller from starting for a bounded time.",
		File:    "sidecar/start/gate.go",
		Old:     `s.Open = s.Ready || s.Left == 0`,
		New:     `s.Open = s.Ready`,
		Package: "./sidecar/start",
		Run:     "^TestAGateOpens",
	},
	{
		Name:    "connections-without-a-limit",
		Promise: "Nobody who reaches the pod can keep kubelet from its probes, or fill the holder's memory with open connections.",
		File:    "sidecar/start/peers.go",
		Old:     `p.open[from] >= p.limit`,
		New:     `false`,
		Package: "./sidecar/start",
		Run:     "^TestAnAddressThatKeepsConnectionsOpen",
	},
	{
		Name:    "a-start-before-the-hold",
		Promise: "Within that time a controller waits for its holder.",
		File:    "sidecar/start/gate.go",
		Old:     `s.Open = s.Ready || s.Left == 0`,
		New:     `s.Open = true`,
		Package: "./sidecar/start",
		Run:     "^TestAGateOpens",
	},
	{
		Name:    "a-stop-without-a-bound",
		Promise: "A program that is told to stop does, also when its manager does not.",
		File:    "internal/stopping/within.go",
		Old:     `timer := time.NewTimer(bound)`,
		New:     `timer := time.NewTimer(1000 * time.Hour)`,
		Package: "./internal/stopping",
		Run:     "^Test",
	},
}
