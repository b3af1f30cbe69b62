package hold

import (
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// fetchPrefix begins every token a holder stamps on a GitRepository; the request's id follows, so that a pass recognises
// its own stamp without remembering it.
const fetchPrefix = "holdfast-fetch-"

// serve is reached only while the Kustomization is held. It brings the artifact to the commit a request names and records
// the operation; the record is all that this pass does.
func (s Seen) serve() Action {
	req := s.pending()
	if req == nil {
		return Action{Reason: v1alpha1.ReasonSuspended, Status: s.status(s.report())}
	}
	if old := s.ranBefore(req.ID); old != nil {
		r := s.report()
		r.handled = answer(*old)
		return Action{Reason: v1alpha1.ReasonSuspended, Status: s.status(r)}
	}
	if !isAt(artifactRevision(s.GitRepository), req.Commit) {
		return s.fetch(req)
	}
	op := v1alpha1.Operation{
		RequestID:   req.ID,
		Origin:      v1alpha1.OriginRequest,
		Phase:       v1alpha1.OperationRequested,
		Reason:      req.Reason,
		Commit:      req.Commit,
		Token:       s.FreshToken,
		ApplierUID:  string(s.Kustomization.UID),
		Before:      BaselineOf(s.Kustomization),
		RequestedAt: instant(s.Now),
		Message:     "recorded; to be resumed",
	}
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}
}

// fetch makes source-controller look at the branch, once per request, and answers when that did not bring the commit. A
// stamp of another trigger's holder that is not handled yet is waited for, because stamping it over would lose it.
func (s Seen) fetch(req *v1alpha1.ApplyRequest) Action {
	g := s.GitRepository
	token, newest, handled := fetchPrefix+req.ID, g.Annotations[meta.ReconcileRequestAnnotation], g.Status.LastHandledReconcileAt
	if handled == token {
		r := s.report()
		r.handled = s.notFetched(req)
		return Action{Reason: v1alpha1.ReasonSuspended, Status: s.status(r)}
	}
	r := s.report()
	r.progress = fmt.Sprintf("waiting for source-controller to fetch commit %s into GitRepository %s/%s", req.Commit, g.Namespace, g.Name)
	act := Action{Reason: v1alpha1.ReasonProgressing, Status: s.status(r)}
	if newest == token || strings.HasPrefix(newest, fetchPrefix) && newest != handled {
		return act
	}
	act.Verb, act.Token, act.Guarded = Fetch, token, true
	return act
}

// notFetched answers a request whose commit is not in the artifact although the branch was looked at.
func (s Seen) notFetched(req *v1alpha1.ApplyRequest) *v1alpha1.HandledRequest {
	g := s.GitRepository
	a := &v1alpha1.HandledRequest{ID: req.ID, Outcome: v1alpha1.OutcomeRequestFailed}
	ready := apimeta.FindStatusCondition(g.Status.Conditions, meta.ReadyCondition)
	switch {
	case g.Spec.Suspend:
		a.Message = fmt.Sprintf("GitRepository %s/%s is suspended and fetches nothing; resume it (spec.suspend)", g.Namespace, g.Name)
	case ready != nil && ready.Status == metav1.ConditionFalse:
		a.Message = fmt.Sprintf("GitRepository %s/%s: %s: %s", g.Namespace, g.Name, ready.Reason,
			strings.ReplaceAll(ready.Message, g.Spec.URL, publicURL(g)))
	case artifactRevision(g) == "":
		a.Message = fmt.Sprintf("GitRepository %s/%s has no artifact", g.Namespace, g.Name)
	default:
		a.Outcome = v1alpha1.OutcomeStale
		a.Message = fmt.Sprintf("the branch is at %s", artifactRevision(g))
	}
	return a
}
