package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitTargetSpec is one folder on one branch for one cluster.
//
// +kubebuilder:validation:XValidation:rule="self.gitProviderRef == oldSelf.gitProviderRef && self.branch == oldSelf.branch && self.path == oldSelf.path",message="gitProviderRef, branch and path are immutable; make a new GitTarget"
// +kubebuilder:validation:XValidation:rule="self.kubeProviderRef == oldSelf.kubeProviderRef",message="kubeProviderRef is immutable; make a new GitTarget"
type GitTargetSpec struct {
	// GitProviderRef names the GitProvider in this namespace whose repository is written. Immutable.
	GitProviderRef LocalReference `json:"gitProviderRef"`

	// KubeProviderRef names the cluster that is mirrored. Default "default"; immutable.
	// +kubebuilder:default={name: "default"}
	// +optional
	KubeProviderRef KubeProviderReference `json:"kubeProviderRef,omitzero"`

	// Branch that is written; the GitProvider's allowedBranches must admit it. Immutable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_][A-Za-z0-9._/-]*$') && !self.contains('..') && !self.contains('//') && !self.contains('/.') && !self.contains('.lock/') && !self.endsWith('/') && !self.endsWith('.') && !self.endsWith('.lock')",message="branch must be a plain branch name, such as main or release/1.2"
	Branch string `json:"branch"`

	// Path of the folder from the repository's root; "." is the root itself, and the default. With an applyTriggerRef it
	// should be the folder that the trigger's Kustomization applies, or one below it: what is written elsewhere is not applied.
	// Immutable.
	// +kubebuilder:default="."
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self == '.' || (self.matches('^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$') && self.split('/').all(s, s != '.' && s != '..' && s.lowerAscii() != '.git'))",message="path must be a folder inside the repository: relative, without . or .. or .git segments"
	// +optional
	Path string `json:"path,omitempty"`

	// Commit says when edits of one author become a commit.
	// +kubebuilder:default={}
	// +optional
	Commit CommitWindow `json:"commit,omitzero"`

	// ApplyTriggerRef names the trigger in this namespace that holds the applier of this folder. Without it nothing is
	// ever asked to apply.
	// +optional
	ApplyTriggerRef *ApplyTriggerReference `json:"applyTriggerRef,omitempty"`
}

// CommitWindow says how long edits of one author are collected into one commit.
type CommitWindow struct {
	// IdleTimeout closes the window when no edit came for so long. Default 5s; 0s commits each edit at once.
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="idleTimeout must be between 0s and 1h"
	// +optional
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// MaxDuration closes the window so long after its first edit, whatever comes. Default 30s.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('1h')",message="maxDuration must be between 0s and 1h"
	// +optional
	MaxDuration *metav1.Duration `json:"maxDuration,omitempty"`
}

// ApplyTriggerReference names a trigger.
type ApplyTriggerReference struct {
	// Kind of the trigger.
	// +kubebuilder:validation:Enum=FluxTrigger
	Kind string `json:"kind"`

	// Name of the trigger.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// GitTargetStatus is what gitmirror does for this target.
type GitTargetStatus struct {
	// ObservedGeneration is the generation the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Commit is the newest commit gitmirror pushed for this target, as a full hash.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Conditions: Ready, Reconciling, Stalled, Validated, StreamsRunning, Pushed, ApplyTriggerReady.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GitTarget mirrors objects of its own namespace into one folder on one branch.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=holdfast
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.branch`
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.spec.path`
// +kubebuilder:printcolumn:name="Pushed",type=string,JSONPath=`.status.commit`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GitTargetSpec   `json:"spec"`
	Status GitTargetStatus `json:"status,omitempty"`
}

// GitTargetList is a list of GitTargets.
//
// +kubebuilder:object:root=true
type GitTargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitTarget `json:"items"`
}
