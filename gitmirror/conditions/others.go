package conditions

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Provider returns the whole status of a GitProvider, given what asking its server found.
func Provider(p *v1alpha1.GitProvider, found Fault, now time.Time) v1alpha1.GitProviderStatus {
	return v1alpha1.GitProviderStatus{
		ObservedGeneration: p.Generation,
		Conditions:         on(p.Status.Conditions, p.Generation, now).ready(found, "the repository answers to the credentials"),
	}
}

// Rule returns the whole status of a WatchRule, given why its resources cannot be watched.
func Rule(r *v1alpha1.WatchRule, found Fault, now time.Time) v1alpha1.WatchRuleStatus {
	return v1alpha1.WatchRuleStatus{
		ObservedGeneration: r.Generation,
		Conditions:         on(r.Status.Conditions, r.Generation, now).ready(found, "the resources are mirrored"),
	}
}

// KubeProvider returns the whole status of a KubeProvider, given whether an audit event has arrived since the start. A
// cluster whose audit events do not arrive is mirrored all the same, so it stays Ready and AuditFactsReceived says what is
// missing. Once True, that condition stays: a cluster that has sent events is expected to send more.
func KubeProvider(p *v1alpha1.KubeProvider, factsReceived bool, now time.Time) v1alpha1.KubeProviderStatus {
	l := on(p.Status.Conditions, p.Generation, now)
	switch {
	case factsReceived:
		l.set(v1alpha1.ConditionAuditFactsReceived, Fault{}, "audit events arrive")
	case status.IsTrue(p.Status.Conditions, v1alpha1.ConditionAuditFactsReceived):
		l.set(v1alpha1.ConditionAuditFactsReceived, Fault{}, "audit events have arrived; none has since gitmirror started last")
	default:
		status.Set(&l.conds, v1alpha1.ConditionAuditFactsReceived, metav1.ConditionFalse, v1alpha1.ReasonNoAuditEvents, p.Generation, now,
			"no audit event has ever arrived; until one does, commits name no author. "+
				"Point the API server's --audit-webhook-config-file at gitmirror's audit address")
	}
	return v1alpha1.KubeProviderStatus{
		ObservedGeneration: p.Generation,
		Conditions:         l.ready(Fault{}, "the cluster is mirrored"),
	}
}

// ExpectFacts says whether audit events are to be expected, given every KubeProvider and the status that one of them is
// about to get: once a cluster has sent any, it goes on.
func ExpectFacts(all []v1alpha1.KubeProvider, next v1alpha1.KubeProviderStatus) bool {
	return status.IsTrue(next.Conditions, v1alpha1.ConditionAuditFactsReceived) ||
		slices.ContainsFunc(all, func(p v1alpha1.KubeProvider) bool {
			return status.IsTrue(p.Status.Conditions, v1alpha1.ConditionAuditFactsReceived)
		})
}
