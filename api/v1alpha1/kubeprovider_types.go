package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KubeProviderSpec says which cluster to read and drive, and what its users may reach.
type KubeProviderSpec struct {
	// InCluster means the cluster Holdfast itself runs in. It is the only kind of provider there is so far.
	// +kubebuilder:validation:XValidation:rule="self",message="inCluster must be true"
	InCluster bool `json:"inCluster"`

	// AllowCrossNamespace grants every namespace powers outside itself. Nothing is granted by default.
	// +optional
	AllowCrossNamespace CrossNamespaceGrants `json:"allowCrossNamespace,omitzero"`
}

// CrossNamespaceGrants are powers an administrator hands to every namespace; they are a delegation, not the owner's consent.
type CrossNamespaceGrants struct {
	// Appliers lets a trigger name a Kustomization in another namespace, such as flux-system.
	// +kubebuilder:default=false
	// +optional
	Appliers bool `json:"appliers,omitempty"`
}

// KubeProviderStatus is what gitmirror knows of the cluster.
type KubeProviderStatus struct {
	// ObservedGeneration is the generation the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, AuditFactsReceived.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// KubeProvider is a cluster to read and drive.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=holdfast
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Audit",type=string,JSONPath=`.status.conditions[?(@.type=="AuditFactsReceived")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type KubeProvider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KubeProviderSpec   `json:"spec"`
	Status KubeProviderStatus `json:"status,omitempty"`
}

// KubeProviderList is a list of KubeProviders.
//
// +kubebuilder:object:root=true
type KubeProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KubeProvider `json:"items"`
}
