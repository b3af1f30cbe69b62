package hold

import (
	"fmt"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// refusal is why the applier cannot be held, with the field and the fix in the message.
type refusal struct {
	reason  v1alpha1.Reason
	passing bool // time may heal it; otherwise somebody has to act
	message string
}

// configured is False when somebody has to act, Unknown when time may heal it.
func (no refusal) configured() metav1.ConditionStatus {
	if no.passing {
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

// refusal returns why nothing may be held or resumed now, or nil: because the trigger is not fit to hold the Kustomization
// that is there, or because another goes before it. What is missing altogether comes before what is wrong with it, so that
// the message names the first thing to fix.
func (s Seen) refusal() *refusal {
	if no := s.unfit(); no != nil {
		return no
	}
	if who := s.ahead(); who != "" {
		return refuse(v1alpha1.ReasonHeldByAnotherTrigger, "Kustomization %s is for %s, which goes before this one; delete one of the two", s.applier(), who)
	}
	return nil
}

// unfit returns why this trigger may not hold its Kustomization, whoever else wants to; or nil.
func (s Seen) unfit() *refusal {
	ref := s.Trigger.Spec.KustomizationRef
	k, g := s.Kustomization, s.GitRepository
	provider := s.Trigger.Spec.KubeProviderRef.Name
	if provider == "" {
		provider = v1alpha1.DefaultKubeProvider
	}
	switch {
	case s.KubeProvider == nil:
		return refuse(v1alpha1.ReasonKubeProviderNotFound, "spec.kubeProviderRef names KubeProvider %s, which does not exist; create it", provider)
	case !s.Admitted:
		return refuse(v1alpha1.ReasonNamespaceNotAuthorized,
			"KubeProvider %s does not admit namespace %s; an administrator must add a selector to its spec.accessFrom, or a label to the namespace", provider, s.Trigger.Namespace)
	case ref.Namespace != s.Trigger.Namespace && !s.KubeProvider.Spec.AllowCrossNamespace.Appliers:
		return refuse(v1alpha1.ReasonApplierNamespaceNotAllowed,
			"spec.kustomizationRef names namespace %s; an administrator must set spec.allowCrossNamespace.appliers of KubeProvider %s, or the trigger must be in that namespace",
			ref.Namespace, provider)
	case k == nil || !k.DeletionTimestamp.IsZero():
		return refuse(v1alpha1.ReasonApplierNotFound,
			"spec.kustomizationRef names Kustomization %s, which does not exist or is being deleted; create it, or make a new FluxTrigger that names another", s.applier())
	case k.Spec.SourceRef.Kind == "":
		return refuse(v1alpha1.ReasonUnsupportedSource, "Kustomization %s has no spec.sourceRef; name the GitRepository it applies", s.applier())
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
	if on := standsOn(k, s.Controller.Namespace); on != "" && s.Trigger.Spec.SelfManaged != v1alpha1.SelfManagedAllow {
		return refuse(v1alpha1.ReasonSelfManaged,
			"Kustomization %s manages %s, which the hold stands on: a fault there could not be mended through Git; move it to a Kustomization that is not held, or set spec.selfManaged to Allow",
			s.applier(), on)
	}
	switch {
	case s.contested():
		return refuse(v1alpha1.ReasonSuspendOwnedElsewhere,
			"spec.suspend of Kustomization %s is applied by field manager %s; take the field out of what it applies, or delete this trigger", s.applier(), suspendApplier(k))
	case s.Binding.Bound:
		return nil
	case s.Binding.Reason == v1alpha1.ReasonSourceMismatch:
		return refuse(v1alpha1.ReasonSourceMismatch, "%s", s.Binding.Message)
	}
	no := refuse(v1alpha1.ReasonNotBound, "%s", s.Binding.Message)
	no.passing = !s.Binding.Refused
	return no
}

// retakeAfter is how long a manager that applies spec.suspend has the field to itself, after it was taken from it once. So
// there is at most one write of ours in that time, and no tug-of-war.
const retakeAfter = time.Hour

// contested says that another manager applies spec.suspend and that taking the field would be a fight: it had it before
// us, or has put it back since we took it, or wants it suspended for a reason of its own. A Kustomization of ours that such
// a manager resumes is taken back once: it may not know yet that somebody holds it.
func (s Seen) contested() bool {
	k := s.Kustomization
	by := suspendApplier(k)
	if by == "" {
		return false
	}
	if !s.wasHeld() || k.Spec.Suspend {
		return true
	}
	who := resumer(k)
	return slices.ContainsFunc(s.Trigger.Status.History, func(op v1alpha1.Operation) bool {
		return op.Origin == v1alpha1.OriginExternal && op.By == who && op.FinishedAt != nil && s.since(*op.FinishedAt) < retakeAfter
	})
}

// applies says that a resume was by a manager that has the field in a file of its own, in the words of resumer.
func applies(by string) bool { return strings.HasSuffix(by, "(Apply)") }

// saidConfigured says that the status names r already as what is wrong.
func (s Seen) saidConfigured(r v1alpha1.Reason) bool {
	c := status.Get(s.Trigger.Status.Conditions, v1alpha1.ConditionConfigured)
	return c != nil && c.Reason == string(r)
}

func refuse(r v1alpha1.Reason, format string, args ...any) *refusal {
	return &refusal{reason: r, message: fmt.Sprintf(format, args...)}
}
