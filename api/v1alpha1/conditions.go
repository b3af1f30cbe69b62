package v1alpha1

// ConditionType is the type of a status condition. It is a type of its own so that a reason in its place does not compile.
type ConditionType string

// Reason says why a condition has its status; the same words serve as log value and metric label.
type Reason string

// Conditions every kind has, as kstatus reads them.
const (
	// ConditionReady is True when the object does its work; it sums up the other conditions.
	ConditionReady ConditionType = "Ready"

	// ConditionReconciling is True while the state asked for is on its way and nobody needs to act.
	ConditionReconciling ConditionType = "Reconciling"

	// ConditionStalled is True when somebody has to change something before there is progress; the message says what.
	ConditionStalled ConditionType = "Stalled"
)

// Conditions of particular kinds.
const (
	// ConditionAuditFactsReceived on a KubeProvider is True once an audit event of that cluster has arrived.
	ConditionAuditFactsReceived ConditionType = "AuditFactsReceived"

	// ConditionValidated on a GitTarget is True when its references, branch and path can be written.
	ConditionValidated ConditionType = "Validated"

	// ConditionStreamsRunning on a GitTarget is True while every resource its WatchRules name is watched.
	ConditionStreamsRunning ConditionType = "StreamsRunning"

	// ConditionPushed on a GitTarget is False while edits wait because the repository does not take them.
	ConditionPushed ConditionType = "Pushed"

	// ConditionApplyTriggerReady on a GitTarget is True when the trigger it names holds its applier for this target.
	ConditionApplyTriggerReady ConditionType = "ApplyTriggerReady"

	// ConditionConfigured on a trigger is True when its applier can be held.
	ConditionConfigured ConditionType = "Configured"

	// ConditionHeld on a trigger is True while the Kustomization applies nothing on its own: it is suspended under our field
	// manager and that suspend is handled, or it is resumed for a recorded operation that is followed.
	ConditionHeld ConditionType = "Held"

	// ConditionHolderAvailable on a trigger is False when no holder answers; then Held says only how it was. gitmirror
	// writes it.
	ConditionHolderAvailable ConditionType = "HolderAvailable"
)

// Reasons that several kinds use.
const (
	// ReasonSucceeded: everything this object asks for is so.
	ReasonSucceeded Reason = "Succeeded"

	// ReasonProgressing: work is on its way; nobody needs to act.
	ReasonProgressing Reason = "Progressing"

	// ReasonKubeProviderNotFound: spec.kubeProviderRef names a KubeProvider that does not exist.
	ReasonKubeProviderNotFound Reason = "KubeProviderNotFound"
)

// Reasons of a KubeProvider.
const (
	// ReasonNoAuditEvents: no audit event has ever arrived; commits name no author until one does.
	ReasonNoAuditEvents Reason = "NoAuditEvents"
)

// Reasons of a GitProvider.
const (
	// ReasonSecretNotFound: spec.secretRef names a Secret that does not exist or lacks the keys.
	ReasonSecretNotFound Reason = "SecretNotFound"

	// ReasonAuthenticationFailed: the server refused the credentials of spec.secretRef.
	ReasonAuthenticationFailed Reason = "AuthenticationFailed"

	// ReasonRepositoryNotFound: the server knows no repository at spec.url.
	ReasonRepositoryNotFound Reason = "RepositoryNotFound"

	// ReasonUnreachable: the server at spec.url did not answer as a Git server.
	ReasonUnreachable Reason = "Unreachable"
)

// Reasons of a GitTarget.
const (
	// ReasonGitProviderNotFound: spec.gitProviderRef names a GitProvider that does not exist.
	ReasonGitProviderNotFound Reason = "GitProviderNotFound"

	// ReasonGitProviderNotReady: the GitProvider is not Ready; its own status says why.
	ReasonGitProviderNotReady Reason = "GitProviderNotReady"

	// ReasonBranchNotAllowed: the GitProvider's allowedBranches admit no such branch.
	ReasonBranchNotAllowed Reason = "BranchNotAllowed"

	// ReasonPathNotAccepted: the folder holds something that cannot be edited faithfully, such as a kustomization.yaml.
	ReasonPathNotAccepted Reason = "PathNotAccepted"

	// ReasonNoWatchRule: no WatchRule names this GitTarget, so nothing is mirrored.
	ReasonNoWatchRule Reason = "NoWatchRule"

	// ReasonPushFailed: the repository did not take a commit; the edits are kept and pushed again.
	ReasonPushFailed Reason = "PushFailed"

	// ReasonApplyTriggerNotFound: spec.applyTriggerRef names a trigger that does not exist.
	ReasonApplyTriggerNotFound Reason = "ApplyTriggerNotFound"
)

// Reasons of a WatchRule.
const (
	// ReasonGitTargetNotFound: spec.gitTargetRef names a GitTarget that does not exist.
	ReasonGitTargetNotFound Reason = "GitTargetNotFound"

	// ReasonResourceNotFound: the cluster serves no such resource.
	ReasonResourceNotFound Reason = "ResourceNotFound"

	// ReasonResourceNotWatchable: the resource is not namespaced, or cannot be listed and watched.
	ReasonResourceNotWatchable Reason = "ResourceNotWatchable"

	// ReasonForbidden: the program's account lacks a permission the message names.
	ReasonForbidden Reason = "Forbidden"
)

// Reasons of a trigger's Configured condition.
const (
	// ReasonNotReferenced: no GitTarget names this trigger, so it reads and writes nothing.
	ReasonNotReferenced Reason = "NotReferenced"

	// ReasonNotBound: GitTargets name this trigger and none binds it: one cannot be judged yet, or each is refused.
	ReasonNotBound Reason = "NotBound"

	// ReasonSourceMismatch: no GitTarget that names this trigger writes the repository and branch its applier fetches.
	ReasonSourceMismatch Reason = "SourceMismatch"

	// ReasonApplierNotFound: the Kustomization, or the GitRepository it names, does not exist.
	ReasonApplierNotFound Reason = "ApplierNotFound"

	// ReasonApplierNamespaceNotAllowed: the applier is in another namespace and the KubeProvider does not allow that.
	ReasonApplierNamespaceNotAllowed Reason = "ApplierNamespaceNotAllowed"

	// ReasonUnsupportedSource: the Kustomization's source is not a GitRepository that follows a branch.
	ReasonUnsupportedSource Reason = "UnsupportedSource"

	// ReasonHeldByAnotherTrigger: another trigger holds the Kustomization, or is before this one in line for it.
	ReasonHeldByAnotherTrigger Reason = "HeldByAnotherTrigger"

	// ReasonNamespaceNotAuthorized: the KubeProvider's accessFrom does not admit this namespace.
	ReasonNamespaceNotAuthorized Reason = "NamespaceNotAuthorized"

	// ReasonSuspendOwnedElsewhere: another field manager applies spec.suspend; take it out there to let this trigger hold.
	ReasonSuspendOwnedElsewhere Reason = "SuspendOwnedElsewhere"

	// ReasonSelfManaged: the Kustomization manages what the hold stands on, and the trigger does not say that this is meant.
	ReasonSelfManaged Reason = "SelfManaged"
)

// Reasons of a trigger's Ready condition, besides those of Configured and Held.
const (
	// ReasonOperationUnresolved: an operation is not over after five minutes; the message says what is awaited.
	ReasonOperationUnresolved Reason = "OperationUnresolved"

	// ReasonSpecNotApplied: the Kustomization's spec changed since the last operation, and no operation has applied it.
	ReasonSpecNotApplied Reason = "SpecNotApplied"
)

// Reasons that say who acts.
const (
	// ReasonStandby: another holder acts, because its controller leads or matches the Kustomization's labels.
	ReasonStandby Reason = "Standby"

	// ReasonHolderMissing: no holder answers; the Kustomization stays as it is.
	ReasonHolderMissing Reason = "HolderMissing"

	// ReasonHolderRunning: a holder answers.
	ReasonHolderRunning Reason = "HolderRunning"
)

// Reasons of a trigger's Held condition.
const (
	// ReasonSuspended: suspended under our field manager, and kustomize-controller has handled that.
	ReasonSuspended Reason = "Suspended"

	// ReasonApplying: resumed for the recorded operation, and followed.
	ReasonApplying Reason = "Applying"

	// ReasonSuspending: a suspend is sent and not handled yet.
	ReasonSuspending Reason = "Suspending"

	// ReasonReleasing: being handed back.
	ReasonReleasing Reason = "Releasing"

	// ReasonNotConfigured: not held, because Configured is not True; the message says how the Kustomization is left.
	ReasonNotConfigured Reason = "NotConfigured"
)

// Reasons of Events and of operations that ended Failed.
const (
	// ReasonResumedElsewhere: somebody else resumed a held Kustomization; it was suspended again.
	ReasonResumedElsewhere Reason = "ResumedElsewhere"

	// ReasonReleased: the Kustomization was handed back.
	ReasonReleased Reason = "Released"

	// ReasonReleaseFailed: the Kustomization could not be handed back in ten minutes, and was let go as it is.
	ReasonReleaseFailed Reason = "ReleaseFailed"

	// ReasonOperationUnfollowed: nobody watched an operation for a minute, so what it applied is not known to be all.
	ReasonOperationUnfollowed Reason = "OperationUnfollowed"

	// ReasonApplyUnresolved: an operation is not over after five minutes.
	ReasonApplyUnresolved Reason = "ApplyUnresolved"

	// ReasonApplyRequestFailed: a request could not be started.
	ReasonApplyRequestFailed Reason = "ApplyRequestFailed"

	// ReasonApplierDeleted: a held Kustomization is being deleted; the message says what becomes of its objects.
	ReasonApplierDeleted Reason = "ApplierDeleted"

	// ReasonApplied: an operation ended Succeeded.
	ReasonApplied Reason = "Applied"

	// ReasonApplyFailed: an operation ended Failed.
	ReasonApplyFailed Reason = "ApplyFailed"

	// ReasonNothingRan: the suspend was handled and no run had left a trace.
	ReasonNothingRan Reason = "NothingRan"

	// ReasonNotReady: a run ended, and Ready or the run's entry in status.history says no success; the message repeats it.
	ReasonNotReady Reason = "NotReady"

	// ReasonRevisionMismatch: a run applied another commit than the operation's.
	ReasonRevisionMismatch Reason = "RevisionMismatch"

	// ReasonEditRefused: an edit has no faithful place in Git; the message names the object and why.
	ReasonEditRefused Reason = "EditRefused"
)
