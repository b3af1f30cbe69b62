package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WatchRuleSpec says which resources of this namespace go to a GitTarget.
type WatchRuleSpec struct {
	// GitTargetRef names the GitTarget in this namespace.
	GitTargetRef LocalReference `json:"gitTargetRef"`

	// Rules name the resources; an object is mirrored when any of them names its resource.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Rules []ResourceRule `json:"rules"`
}

// ResourceRule names resources as RBAC does, without wildcards.
//
// +kubebuilder:validation:XValidation:rule="!self.apiGroups.exists(g, size(g) == 0) || !self.resources.exists(r, r == 'secrets')",message="secrets cannot be mirrored: their values would reach Git unencrypted"
type ResourceRule struct {
	// APIGroups, "" being the core group.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	APIGroups []string `json:"apiGroups"`

	// Resources by their plural, lower-case names, without subresources.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:Pattern=`^[a-z][a-z0-9-]*$`
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	Resources []string `json:"resources"`
}

// WatchRuleStatus says whether the rule's resources can be watched.
type WatchRuleStatus struct {
	// ObservedGeneration is the generation the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, Reconciling, Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// WatchRule sends resources of its namespace to a GitTarget.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=holdfast
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.gitTargetRef.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WatchRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   WatchRuleSpec   `json:"spec"`
	Status WatchRuleStatus `json:"status,omitempty"`
}

// WatchRuleList is a list of WatchRules.
//
// +kubebuilder:object:root=true
type WatchRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WatchRule `json:"items"`
}
