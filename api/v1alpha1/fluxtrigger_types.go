package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// FluxTriggerSpec says which Kustomization is held.
//
// +kubebuilder:validation:XValidation:rule="self.kustomizationRef == oldSelf.kustomizationRef && self.kubeProviderRef == oldSelf.kubeProviderRef",message="kustomizationRef and kubeProviderRef are immutable; make a new FluxTrigger"
type FluxTriggerSpec struct {
	// KubeProviderRef names the cluster the Kustomization is in. Default: default.
	// +kubebuilder:default={name: "default"}
	// +optional
	KubeProviderRef KubeProviderReference `json:"kubeProviderRef,omitzero"`

	// KustomizationRef names the Kustomization to hold.
	KustomizationRef NamespacedReference `json:"kustomizationRef"`

	// QuietPeriod is how long the branch must be quiet before an apply is asked for. Default 30s, at most 1h.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="quietPeriod must be between 0s and 1h"
	// +optional
	QuietPeriod *metav1.Duration `json:"quietPeriod,omitempty"`

	// OnDelete says what becomes of what the Kustomization applied when the Kustomization is deleted while it is held. Flux
	// itself leaves everything in place then, because a suspended Kustomization prunes nothing. Resume (default) lets Flux do
	// what the Kustomization's own deletionPolicy and prune say. Orphan leaves everything in place.
	// +kubebuilder:default=Resume
	// +optional
	OnDelete OnDelete `json:"onDelete,omitempty"`

	// SelfManaged says whether a Kustomization may be held that manages what the hold stands on: the controllers of Flux,
	// the kinds of Flux and Holdfast, or Holdfast itself. A fault in any of these could then not be mended through Git.
	// Refuse (default) does not hold it; Allow does.
	// +kubebuilder:default=Refuse
	// +optional
	SelfManaged SelfManaged `json:"selfManaged,omitempty"`
}

// OnDelete says what becomes of what a held Kustomization applied, when it is deleted.
// +kubebuilder:validation:Enum=Resume;Orphan
type OnDelete string

// What a deletion may do.
const (
	// OnDeleteResume: Flux does what spec.deletionPolicy and spec.prune of the Kustomization say.
	OnDeleteResume OnDelete = "Resume"

	// OnDeleteOrphan: everything stays in place.
	OnDeleteOrphan OnDelete = "Orphan"
)

// SelfManaged says whether what the hold stands on may be held.
// +kubebuilder:validation:Enum=Refuse;Allow
type SelfManaged string

// Answers to a Kustomization that manages what the hold stands on.
const (
	SelfManagedRefuse SelfManaged = "Refuse"
	SelfManagedAllow  SelfManaged = "Allow"
)

// NamespacedReference names an object in a namespace.
type NamespacedReference struct {
	// Namespace of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// ApplyReason says why an apply is asked for. Of several the strongest is named.
// +kubebuilder:validation:Enum=Manual;ForeignCommit;Publish;CatchUp
type ApplyReason string

// Reasons to apply, strongest first.
const (
	// ApplyManual: a person asked, by the annotation holdfast.dev/requestedAt on the trigger.
	ApplyManual ApplyReason = "Manual"

	// ApplyForeignCommit: somebody else pushed to the branch.
	ApplyForeignCommit ApplyReason = "ForeignCommit"

	// ApplyPublish: gitmirror pushed edits it captured.
	ApplyPublish ApplyReason = "Publish"

	// ApplyCatchUp: the trigger was bound and what it last applied is not known to be the tip.
	ApplyCatchUp ApplyReason = "CatchUp"
)

// ApplyRequest is what gitmirror asks the holder to apply. A newer one replaces one that no operation names.
type ApplyRequest struct {
	// ID of the request; a handled id never runs again.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	ID string `json:"id"`

	// Reason is the strongest of the reasons to ask.
	Reason ApplyReason `json:"reason"`

	// Commit to apply, as a full hash.
	// +kubebuilder:validation:Pattern=`^([0-9a-f]{40}|[0-9a-f]{64})$`
	Commit string `json:"commit"`

	// Revision is the commit as Flux names it, `<branch>@sha1:<commit>`.
	// +kubebuilder:validation:MaxLength=512
	Revision string `json:"revision"`

	// RequestedAt is when the request was made, UTC.
	RequestedAt metav1.Time `json:"requestedAt"`
}

// OperationOrigin says where an operation comes from.
// +kubebuilder:validation:Enum=Request;Manual;External;Deletion
type OperationOrigin string

// Origins of an operation.
const (
	// OriginRequest: gitmirror asked for it.
	OriginRequest OperationOrigin = "Request"

	// OriginManual: a person asked for it, by annotation.
	OriginManual OperationOrigin = "Manual"

	// OriginExternal: somebody else resumed the Kustomization, and nobody asked the holder.
	OriginExternal OperationOrigin = "External"

	// OriginDeletion: the Kustomization is being deleted, and resumed so that Flux may prune.
	OriginDeletion OperationOrigin = "Deletion"
)

// OperationPhase is how far an operation is.
// +kubebuilder:validation:Enum=Requested;Running;Settling;Unresolved;Succeeded;Failed
type OperationPhase string

// Phases of an operation, in order; the last two are final.
const (
	// OperationRequested: recorded, and not known to be resumed.
	OperationRequested OperationPhase = "Requested"

	// OperationRunning: the Kustomization is resumed with the operation's token.
	OperationRunning OperationPhase = "Running"

	// OperationSettling: the suspend is sent, and kustomize-controller has not handled it yet.
	OperationSettling OperationPhase = "Settling"

	// OperationUnresolved: as Settling, for longer than five minutes since the record, or for a resume nobody recorded.
	// It is followed all the same.
	OperationUnresolved OperationPhase = "Unresolved"

	// OperationSucceeded: the commit was applied.
	OperationSucceeded OperationPhase = "Succeeded"

	// OperationFailed: the commit was not applied, or not wholly.
	OperationFailed OperationPhase = "Failed"
)

// Final says that nothing follows the phase.
func (p OperationPhase) Final() bool { return p == OperationSucceeded || p == OperationFailed }

// Baseline is what a Kustomization's status said before it was resumed; a run is proven by what moved against it.
type Baseline struct {
	// ReadyTransition is when Ready last changed, as the controller wrote it (whole seconds).
	// +optional
	ReadyTransition *metav1.Time `json:"readyTransition,omitempty"`

	// ReadyReason is the reason of Ready, which tells two changes within one second apart.
	// +optional
	ReadyReason string `json:"readyReason,omitempty"`

	// HistoryDigest of status.history's first entry.
	// +optional
	HistoryDigest string `json:"historyDigest,omitempty"`

	// HistoryStatus of status.history's first entry.
	// +optional
	HistoryStatus string `json:"historyStatus,omitempty"`

	// HistoryTotal is totalReconciliations of status.history's first entry.
	// +optional
	HistoryTotal int64 `json:"historyTotal,omitempty"`
}

// Rest is what the status of one Kustomization said while it was held.
type Rest struct {
	// ApplierUID is the Kustomization's uid.
	ApplierUID string `json:"applierUID"`

	Baseline `json:",inline"`
}

// Operation is one apply, from its record to its end. It is recorded before anything is resumed.
type Operation struct {
	// RequestID is the request this operation carries out; absent when nobody requested it.
	// +optional
	RequestID string `json:"requestID,omitempty"`

	// Origin says where the operation comes from.
	Origin OperationOrigin `json:"origin"`

	// By is who else than the holder resumed the Kustomization, as the field manager that wrote spec.suspend: of an External
	// operation whose it is, of any other who did so while it was under way, if anybody did, and last.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	By string `json:"by,omitempty"`

	// Phase the operation is in.
	Phase OperationPhase `json:"phase"`

	// Reason to apply; absent when nobody asked.
	// +optional
	Reason ApplyReason `json:"reason,omitempty"`

	// Commit to apply, as a full hash. Of an External operation it is what was applied, once that is known.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Token is the requestedAt value the Kustomization is resumed with. It is the operation's identity.
	Token string `json:"token"`

	// SuspendToken is the requestedAt value of the suspend that ends it.
	// +optional
	SuspendToken string `json:"suspendToken,omitempty"`

	// ApplierUID is the Kustomization's uid.
	ApplierUID string `json:"applierUID"`

	// SourceRef is namespace and name of the GitRepository the commit comes from. One operation runs at a time for each.
	// +optional
	SourceRef string `json:"sourceRef,omitempty"`

	// FreezeToken is the requestedAt value with which that GitRepository was suspended for this operation; absent: it was
	// not. It is let go before the operation ends.
	// +optional
	FreezeToken string `json:"freezeToken,omitempty"`

	// SpecDigest tells which spec of the Kustomization the operation applies; spec.suspend does not count. It is "changed"
	// where the spec became another while the operation was under way, so that nobody knows which one ran.
	// +optional
	SpecDigest string `json:"specDigest,omitempty"`

	// Generation is the Kustomization's metadata.generation when the operation was recorded; while it is that, nobody has
	// resumed it. Absent of operations that nobody recorded beforehand.
	// +optional
	Generation int64 `json:"generation,omitempty"`

	// Controller is the process of kustomize-controller that led when the operation was last resumed or suspended, as its
	// Lease names it; where there is no leader election, the Lease of the holder beside it.
	// +optional
	Controller string `json:"controller,omitempty"`

	// Abandoned is the reason that has decided the verdict before the end: what is left is to suspend and to wait.
	// +optional
	Abandoned Reason `json:"abandoned,omitempty"`

	// Before is what the Kustomization's status said before the resume. Absent: nothing, because nothing had ever run.
	// +optional
	Before Baseline `json:"before,omitzero"`

	// Result is the reason of the verdict: Applied, or what went wrong. Absent until there is one.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Result Reason `json:"result,omitempty"`

	// AppliedRevision is what the controller says it applied last, read after the suspend was handled.
	// +optional
	AppliedRevision string `json:"appliedRevision,omitempty"`

	// RequestedAt is when the operation was recorded, UTC.
	RequestedAt metav1.Time `json:"requestedAt"`

	// StartedAt is when the Kustomization was resumed, UTC.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// FinishedAt is when the verdict was found, UTC.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// Message for a person: why it failed, or what is awaited.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// RequestOutcome is the answer to a request.
// +kubebuilder:validation:Enum=Succeeded;Failed;Current;Stale;Rejected;RequestFailed
type RequestOutcome string

// Answers to a request.
const (
	// OutcomeSucceeded: applied by the operation named.
	OutcomeSucceeded RequestOutcome = "Succeeded"

	// OutcomeFailed: the operation named failed.
	OutcomeFailed RequestOutcome = "Failed"

	// OutcomeCurrent: the commit was applied before, to this very spec; nothing was done.
	OutcomeCurrent RequestOutcome = "Current"

	// OutcomeStale: the branch moved past the commit before it was applied.
	OutcomeStale RequestOutcome = "Stale"

	// OutcomeRejected: the trigger does not hold its applier; ask again when it does.
	OutcomeRejected RequestOutcome = "Rejected"

	// OutcomeRequestFailed: it could not be started; ask again later.
	OutcomeRequestFailed RequestOutcome = "RequestFailed"
)

// HandledRequest is the answer to the newest request that has one.
type HandledRequest struct {
	// ID of the request.
	ID string `json:"id"`

	// Outcome of the request.
	Outcome RequestOutcome `json:"outcome"`

	// Token of the operation that carried it out, if one did.
	// +optional
	Token string `json:"token,omitempty"`

	// Message for a person.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// TriggerSource is what the held Kustomization fetches, published while the trigger is bound.
type TriggerSource struct {
	// GitRepository the Kustomization names.
	GitRepository NamespacedReference `json:"gitRepository"`

	// URL of that GitRepository.
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Branch it follows.
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch"`
}

// FluxTriggerStatus is the protocol between gitmirror and the holder. gitmirror writes request and the condition
// HolderAvailable; the holder writes the rest.
// Each writes by server-side apply under its own field manager, guarded by the resourceVersion it read.
type FluxTriggerStatus struct {
	// ObservedGeneration is the generation the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Reconciling, Stalled, Configured, Held, HolderAvailable.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Request is what gitmirror asks for.
	// +optional
	Request *ApplyRequest `json:"request,omitempty"`

	// Source is what the applier fetches.
	// +optional
	Source *TriggerSource `json:"source,omitempty"`

	// Operation is the newest operation.
	// +optional
	Operation *Operation `json:"operation,omitempty"`

	// LastHandledRequest is the newest answer.
	// +optional
	LastHandledRequest *HandledRequest `json:"lastHandledRequest,omitempty"`

	// LastHandledManual is the answer to the newest annotation holdfast.dev/requestedAt; its id is made from the value.
	// +optional
	LastHandledManual *HandledRequest `json:"lastHandledManual,omitempty"`

	// AtRest is what the Kustomization's status said when it was last found held. If it moves while held, something ran
	// that nobody recorded.
	// +optional
	AtRest *Rest `json:"atRest,omitempty"`

	// ReleasingSince is since when the Kustomization is being handed back, UTC. After ten minutes it is let go as it is.
	// +optional
	ReleasingSince *metav1.Time `json:"releasingSince,omitempty"`

	// BehindSince is since when the source has held a commit that is not applied, UTC; absent: it is.
	// +optional
	BehindSince *metav1.Time `json:"behindSince,omitempty"`

	// Holder is namespace and name of the Lease by which the holder that acts shows that it is alive.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Holder string `json:"holder,omitempty"`

	// History is the last 20 finished operations that changed something or failed, newest first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	History []Operation `json:"history,omitempty"`
}

// FluxTrigger holds one Kustomization: it stays suspended, and is resumed for one recorded operation at a time.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=holdfast
// +kubebuilder:printcolumn:name="Held",type=string,JSONPath=`.status.conditions[?(@.type=="Held")].reason`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operation.phase`
// +kubebuilder:printcolumn:name="Commit",type=string,JSONPath=`.status.operation.commit`
// +kubebuilder:printcolumn:name="Behind",type=date,JSONPath=`.status.behindSince`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type FluxTrigger struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FluxTriggerSpec   `json:"spec"`
	Status FluxTriggerStatus `json:"status,omitempty"`
}

// FluxTriggerList is a list of FluxTriggers.
//
// +kubebuilder:object:root=true
type FluxTriggerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []FluxTrigger `json:"items"`
}
