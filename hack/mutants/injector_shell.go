package main

// aroundInjecting take lines of defence out of the injector's webhook, its certificates, and its search for pods without
// a holder.
var aroundInjecting = []Mutant{
	{
		Name:    "a-slow-body-takes-a-turn",
		Promise: "Nobody who reaches the webhook's port can turn injection off by sending slowly.",
		File:    "injector/webhook/handler.go",
		Old:     "	text, status, err := body(w, r)\n",
		New:     "	h.calls <- struct{}{}\n	text, status, err := body(w, r)\n	<-h.calls\n",
		Package: "./injector/webhook",
		Run:     "^TestWhoeverIsSlowToSendIsNotWaitedFor$",
	},
	{
		Name:    "webhook-panics",
		Promise: "A pod is let through whatever happens while it is judged.",
		File:    "injector/webhook/handler.go",
		Old:     `if p := recover(); p != nil {`,
		New:     `if p := any(nil); p != nil {`,
		Package: "./injector/webhook",
		Run:     "^TestWhateverIsAskedIsAllowed$",
	},
	{
		Name:    "webhook-refuses",
		Promise: "A pod nothing can be decided about is let through.",
		File:    "injector/webhook/handler.go",
		Old: `	r := allowed(req)
	r.Warnings`,
		New: `	r := &admissionv1.AdmissionResponse{UID: req.UID}
	r.Warnings`,
		Package: "./injector/webhook",
		Run:     "^TestWhateverIsAskedIsAllowed$",
	},
	{
		Name:    "webhook-without-a-look-at-the-namespace",
		Promise: "A holder is fitted into what its namespace allows before it is added.",
		File:    "injector/webhook/room.go",
		Old:     `	if room.Empty() {`,
		New:     `	if true {`,
		Package: "./injector/webhook",
		Run:     "^TestTheHolderFitsIntoWhatTheNamespaceAllows$",
	},
	{
		Name:    "webhook-gives-up-on-limits-unread",
		Promise: "A pod gets its holder although the limits of its namespace cannot be read.",
		File:    "injector/webhook/room.go",
		Old: `		return result, nil
	}
	if room`,
		New: `		return result, err
	}
	if room`,
		Package: "./injector/webhook",
		Run:     "^TestTheHolderFitsIntoWhatTheNamespaceAllows$",
	},
	{
		Name:    "webhook-forgets-its-policy",
		Promise: "A policy that cannot be used leaves the last good one.",
		File:    "injector/webhook/policy.go",
		Old: `		p.problem = err
		return`,
		New: `		p.problem, p.good = err, nil
		return`,
		Package: "./injector/webhook",
		Run:     "^TestAPolicyThatCannotBeUsedLeavesTheLastGoodOne$",
	},
	{
		Name:    "trust-serves-at-once",
		Promise: "Nothing is served before every API server trusts what signed it.",
		File:    "injector/trust/plan.go",
		Old:     `return trusted && s.Now.Sub(at) >= Settle`,
		New:     `return trusted && s.Now.Sub(at) >= 0`,
		Package: "./injector/trust",
		Run:     "^TestNoCallFailsWhateverHappensToTheSecret$",
		Args:    []string{"-rapid.nofailfile"},
	},
	{
		Name:    "trust-drops-at-once",
		Promise: "An authority stays trusted while a replica may still serve by it.",
		File:    "injector/trust/plan.go",
		Old:     `(!superseded || s.Now.Sub(at) < Overlap)`,
		New:     `(!superseded || s.Now.Sub(at) < 0)`,
		Package: "./injector/trust",
		Run:     "^TestNoCallFailsWhateverHappensToTheSecret$",
		Args:    []string{"-rapid.nofailfile"},
	},
	{
		Name:    "trust-one-webhook-of-two",
		Promise: "An authority is trusted once every webhook of the configuration has it.",
		File:    "injector/trust/plan.go",
		Old:     `if inAll(s.Bundles, mark) {`,
		New:     `if true {`,
		Package: "./injector/trust",
		Run:     "^TestStep$",
	},
	{
		Name:    "missing-without-consent",
		Promise: "Nothing is evicted unless somebody consented to it.",
		File:    "injector/missing/decide.go",
		Old:     `if !s.Consent || !s.Able`,
		New:     `if !s.Able`,
		Package: "./injector/missing",
		Run:     "^TestDecide$",
	},
	{
		Name:    "missing-while-unable",
		Promise: "Nothing is evicted while the injector could not give the next pod its holder.",
		File:    "injector/missing/decide.go",
		Old:     `if !s.Consent || !s.Able`,
		New:     `if !s.Consent`,
		Package: "./injector/missing",
		Run:     "^TestDecide$",
	},
	{
		Name:    "missing-in-vain",
		Promise: "A workload whose next pod came without a holder too is not restarted again.",
		File:    "injector/missing/decide.go",
		Old:     `workload == "" || inVain {`,
		New:     `workload == "" {`,
		Package: "./injector/missing",
		Run:     "^TestDecide$",
	},
	{
		Name:    "missing-acts-before-it-records",
		Promise: "A restart that cannot be written down is not done.",
		File:    "injector/missing/reconcile.go",
		Old: `	if err := r.restarts.write(ctx, namespace, p, now); err != nil {
		return err
	}
	var errs []error
`,
		New: `	var errs []error
	defer func() { _ = r.restarts.write(ctx, namespace, p, now) }()
`,
		Package: "./injector/missing",
		Run:     "^TestARestartIsWrittenDownBeforeItIsDone$",
	},
	{
		Name:    "lease-outlives-an-uninstall",
		Promise: "What the injector writes goes with its webhook configuration.",
		File:    "injector/lease.go",
		Old:     `	l.OwnerReferences = []metav1.OwnerReference{*owner}`,
		New:     `	l.OwnerReferences = nil`,
		Package: "./injector",
		Run:     "^TestTheLeaseGoesWithTheWebhookConfiguration$",
	},
	{
		Name:    "lease-before-it-has-an-owner",
		Promise: "An injector that outlives its webhook configuration writes nothing anew.",
		File:    "injector/lease.go",
		Old: `	if owner == nil {
		return nil, errors.New(`,
		New: `	if owner == nil {
		return o.LeaseInterface.Create(ctx, l, opts)
	}
	if owner == nil {
		return nil, errors.New(`,
		Package: "./injector",
		Run:     "^TestNobodyLeadsWhileThereIsNoWebhookConfiguration$",
	},
}
