package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KubeProviderSpec says which cluster to read and drive, and what its users may reach.
type KubeProviderSpec struct {
	// InCluster means the cluster Holdfast itself runs in. It is the only kind of provider there is so far.
	// +kubebuilder:validation:XValidation:rule="self",message="inCluster must be true"
	InCluster bool `json:"inCluster"`

	// AccessFrom names the namespaces whose GitTargets and triggers may use this cluster. Absent, every namespace may.
	// +optional
	AccessFrom *AccessFrom `json:"accessFrom,omitempty"`

	// AllowCrossNamespace grants every namespace powers outside itself. Nothing is granted by default.
	// +optional
	AllowCrossNamespace CrossNamespaceGrants `json:"allowCrossNamespace,omitzero"`
}

// AccessFrom admits namespaces by their labels. It has the shape of Flux's acl.AccessFrom.
type AccessFrom struct {
	// NamespaceSelectors admit a namespace when one of them fits its labels. An empty list admits none.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	NamespaceSelectors []NamespaceSelector `json:"namespaceSelectors"`
}

// NamespaceSelector fits namespaces by their labels.
type NamespaceSelector struct {
	// MatchLabels are labels a namespace must have, all of them. Without any, the selector fits every namespace.
	// The label kubernetes.io/metadata.name, which every namespace has, picks one by its name.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="a label's key has at most 317 characters and its value at most 63"
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
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
