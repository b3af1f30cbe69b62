package hold

import (
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// refusal is why the applier cannot be held, with the field and the fix in the message.
type refusal struct {
	reason  v1alpha1.Reason
	message string
}

// configured is False when somebody has to act, Unknown when time may heal it.
func (no refusal) configured() metav1.ConditionStatus {
	if no.reason == v1alpha1.ReasonNotBound {
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

// refusal returns why nothing may be held or resumed now, or nil. What is missing altogether comes before what is wrong with
// it, so that the message names the first thing to fix.
func (s Seen) refusal() *refusal {
	ref := s.Trigger.Spec.KustomizationRef
	k, g := s.Kustomization, s.GitRepository
	provider := s.Trigger.Spec.KubeProviderRef.Name
	if provider == "" {
		provider = v1alpha1.DefaultKubeProvider
	}
	switch {
	case s.KubeProvider == nil:
		return refuse(v1alpha1.ReasonKubeProviderNotFound, "spec.kubeProviderRef names KubeProvider %s, which does not exist; create it", provider)
	case ref.Namespace != s.Trigger.Namespace && !s.KubeProvider.Spec.AllowCrossNamespace.Appliers:
		return refuse(v1alpha1.ReasonApplierNamespaceNotAllowed,
			"spec.kustomizationRef names namespace %s; an administrator must set spec.allowCrossNamespace.appliers of KubeProvider %s, or the trigger must be in that namespace",
			ref.Namespace, provider)
	case k == nil:
		return refuse(v1alpha1.ReasonApplierNotFound,
			"spec.kustomizationRef names Kustomization %s, which does not exist or is being deleted; create it, or make a new FluxTrigger that names another", s.applier())
	case k.Spec.SourceRef.Kind != sourcev1.GitRepositoryKind:
		return refuse(v1alpha1.ReasonUnsupportedSource,
			"spec.sourceRef of Kustomization %s is a %s; only a GitRepository can be held", s.applier(), k.Spec.SourceRef.Kind)
	case g == nil:
		return refuse(v1alpha1.ReasonApplierNotFound,
			"spec.sourceRef of Kustomization %s names GitRepository %s, which does not exist; create it or correct the reference", s.applier(), SourceOf(k).String())
	}
	if _, ok := BranchOf(g); !ok {
		return refuse(v1alpha1.ReasonUnsupportedSource,
			"spec.ref of GitRepository %s/%s pins a commit, name, semver or tag; let it follow a branch", g.Namespace, g.Name)
	}
	if len(publicURL(g)) > maxURL {
		return refuse(v1alpha1.ReasonUnsupportedSource, "spec.url of GitRepository %s/%s is longer than %d bytes; shorten it", g.Namespace, g.Name, maxURL)
	}
	switch by := HolderOf(k); {
	case by != "" && by != s.HeldBy() && s.OtherLives:
		return refuse(v1alpha1.ReasonHeldByAnotherTrigger,
			"Kustomization %s is held by another trigger (annotation %s: %s); delete one of the two", s.applier(), v1alpha1.HeldByAnnotation, by)
	case s.Binding.Bound:
		return nil
	case s.Binding.Reason == v1alpha1.ReasonSourceMismatch:
		return refuse(v1alpha1.ReasonSourceMismatch, "%s", s.Binding.Message)
	}
	return refuse(v1alpha1.ReasonNotBound, "%s", s.Binding.Message)
}

func refuse(r v1alpha1.Reason, format string, args ...any) *refusal {
	return &refusal{reason: r, message: fmt.Sprintf(format, args...)}
}
