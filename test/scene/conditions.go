package scene

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// conditionsOf returns the conditions of one of Holdfast's kinds; none for another object.
func conditionsOf(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case *v1alpha1.KubeProvider:
		return o.Status.Conditions
	case *v1alpha1.GitProvider:
		return o.Status.Conditions
	case *v1alpha1.GitTarget:
		return o.Status.Conditions
	case *v1alpha1.WatchRule:
		return o.Status.Conditions
	case *v1alpha1.FluxTrigger:
		return o.Status.Conditions
	}
	return nil
}
