package statuspage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// APIVersion is the version of the document. A field is never taken away or given another meaning within one; new ones may
// come.
const APIVersion = "status.holdfast.dev/v1"

// Status is the document.
type Status struct {
	// APIVersion of the document.
	APIVersion string `json:"apiVersion"`

	// GeneratedAt is when it was made, UTC.
	GeneratedAt metav1.Time `json:"generatedAt"`

	// Leadership is what this holder knows of itself.
	Leadership Leadership `json:"leadership"`

	// Total is how many FluxTriggers there are.
	Total int `json:"total"`

	// Omitted is how many of them are not shown, because there are too many.
	Omitted int `json:"omitted,omitempty"`

	// Counts are over all of them, shown or not.
	Counts Counts `json:"counts"`

	// Appliers are the triggers with what each holds, by namespace and name.
	Appliers []Applier `json:"appliers"`
}

// Leadership says which holder made the document and whether it acts.
type Leadership struct {
	// Holder is namespace and name of this holder's Lease; empty: it has none.
	Holder string `json:"holder,omitempty"`

	// Leads says that this holder starts operations, because the controller beside it leads.
	Leads bool `json:"leads"`

	// Controller is the process of the controller that leads, wherever it runs; empty: none does, or there is no election.
	Controller string `json:"controller,omitempty"`
}

// Counts says how many appliers are in which State. Every applier is in one of the first four numbers.
type Counts struct {
	// Held is how many are held and at rest.
	Held int `json:"held"`

	// Applying is how many are resumed for a recorded operation.
	Applying int `json:"applying"`

	// Moving is how many are on their way: being suspended, or handed back.
	Moving int `json:"moving"`

	// NotHeld is how many are not held, or not known to be.
	NotHeld int `json:"notHeld"`

	// NeedAttention is how many of all these a person has to look at.
	NeedAttention int `json:"needAttention"`
}

// Name is where an object is.
type Name struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Claim is what a condition says.
type Claim struct {
	// Status is True, False or Unknown; Unknown without a reason: nobody has said yet.
	Status metav1.ConditionStatus `json:"status"`

	// Reason is one word for a program.
	Reason string `json:"reason,omitempty"`

	// Message is a sentence for a person.
	Message string `json:"message,omitempty"`

	// Since is when Status last changed, UTC.
	Since *metav1.Time `json:"since,omitempty"`
}

// Applier is one trigger and what it holds.
type Applier struct {
	// Trigger that holds it.
	Trigger Name `json:"trigger"`

	// Applier that is held.
	Applier Name `json:"applier"`

	// State sums up Held in one word.
	State State `json:"state"`

	// Sentence says to a person how it is.
	Sentence string `json:"sentence"`

	// NeedsAttention says that a person has to look at it: it does not get well by waiting.
	NeedsAttention bool `json:"needsAttention,omitempty"`

	// KubeProvider is the cluster the applier is in.
	KubeProvider string `json:"kubeProvider"`

	// Held: True while the applier applies nothing on its own.
	Held Claim `json:"held"`

	// Ready sums up.
	Ready Claim `json:"ready"`

	// Configured: True when the applier can be held.
	Configured Claim `json:"configured"`

	// HolderAvailable: False when no holder answers this trigger; then Held only says how it was.
	HolderAvailable *Claim `json:"holderAvailable,omitempty"`

	// Holder is namespace and name of the Lease of the holder that acts for this trigger.
	Holder string `json:"holder,omitempty"`

	// Source the applier fetches.
	Source *v1alpha1.TriggerSource `json:"source,omitempty"`

	// BehindSince is since when the source has held a commit that is not applied, UTC.
	BehindSince *metav1.Time `json:"behindSince,omitempty"`

	// Waiting is a request that has no answer and no operation yet.
	Waiting *v1alpha1.ApplyRequest `json:"waiting,omitempty"`

	// LastHandledRequest is the newest answer to a request.
	LastHandledRequest *v1alpha1.HandledRequest `json:"lastHandledRequest,omitempty"`

	// LastHandledManual is the newest answer to a person's annotation.
	LastHandledManual *v1alpha1.HandledRequest `json:"lastHandledManual,omitempty"`

	// Operation is the newest one.
	Operation *Operation `json:"operation,omitempty"`

	// History is the finished operations, newest first.
	History []Operation `json:"history,omitempty"`

	// HistoryOmitted is how many older ones the trigger's own status has beyond these.
	HistoryOmitted int `json:"historyOmitted,omitempty"`
}

// Operation is an operation as the trigger's status has it, with its phases in time.
type Operation struct {
	v1alpha1.Operation `json:",inline"`

	// Timeline is the phases it went through, in order.
	Timeline []Step `json:"timeline"`
}

// Step is a phase an operation entered.
type Step struct {
	// Phase that was entered.
	Phase v1alpha1.OperationPhase `json:"phase"`

	// At is when, UTC, in whole seconds; absent: it is entered, and no instant was recorded.
	At *metav1.Time `json:"at,omitempty"`

	// Seconds from At to the next instant there is, or to now while the operation is not over. Absent without an At, and of
	// the last phase.
	Seconds *int64 `json:"seconds,omitempty"`
}
