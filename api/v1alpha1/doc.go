// Package v1alpha1 holds the kinds a user writes and the status fields the programs talk through.
//
// It decides nothing. What is set here is the vocabulary: kinds, fields, condition types, reasons, and the names of
// annotations, finalizers and field managers. Every reason is produced by some code; one without a producer is a bug.
//
// +kubebuilder:object:generate=true
// +groupName=holdfast.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "holdfast.dev", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&KubeProvider{}, &KubeProviderList{},
		&GitProvider{}, &GitProviderList{},
		&GitTarget{}, &GitTargetList{},
		&WatchRule{}, &WatchRuleList{},
		&FluxTrigger{}, &FluxTriggerList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
