package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitProviderSpec says where a repository is and how to write it.
type GitProviderSpec struct {
	// URL of the repository, http or https, without credentials in it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/@ ]+/[^ ?#]*$')",message="url must be http(s)://host/path without credentials, query or fragment; put credentials into secretRef"
	URL string `json:"url"`

	// SecretRef names a Secret in this namespace with the credentials: keys username and password, or bearerToken.
	// Without it the repository is used anonymously.
	// +optional
	SecretRef *LocalReference `json:"secretRef,omitempty"`

	// AllowedBranches are the branches GitTargets may write, as names or globs such as release/*. A * matches no slash.
	// Default main.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:default={"main"}
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=255
	// +listType=set
	// +optional
	AllowedBranches []string `json:"allowedBranches,omitempty"`

	// Commit says how commits to this repository are made.
	// +kubebuilder:default={}
	// +optional
	Commit GitProviderCommit `json:"commit,omitzero"`
}

// GitProviderCommit says how commits are made.
type GitProviderCommit struct {
	// Committer of every commit; the author is who made the edit.
	// +kubebuilder:default={name: "Holdfast", email: "holdfast@holdfast.invalid"}
	// +optional
	Committer Signature `json:"committer,omitzero"`
}

// Signature is a name and an e-mail address as Git writes them.
type Signature struct {
	// Name as Git shows it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[^<>\n\r\x00]+$`
	Name string `json:"name"`

	// Email as Git shows it.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=254
	// +kubebuilder:validation:Pattern=`^[^<>\s\x00]+@[^<>\s\x00]+$`
	Email string `json:"email"`
}

// GitProviderStatus is what gitmirror found when it asked the server.
type GitProviderStatus struct {
	// ObservedGeneration is the generation the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GitProvider is a repository and how to write it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=holdfast
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GitProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GitProviderSpec   `json:"spec"`
	Status GitProviderStatus `json:"status,omitempty"`
}

// GitProviderList is a list of GitProviders.
//
// +kubebuilder:object:root=true
type GitProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitProvider `json:"items"`
}
