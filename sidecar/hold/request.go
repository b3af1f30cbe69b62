package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// fetchPrefix begins every token a holder stamps on a GitRepository; the request's id follows, so that a pass recognises
// its own stamp without remembering it.
const fetchPrefix = "holdfast-fetch-"

// ask is what somebody wants applied.
type ask struct {
	id     string
	origin v1alpha1.OperationOrigin
	reason v1alpha1.ApplyReason
	commit string // to apply; not looked at when tip is set
	tip    bool   // whatever the branch holds once it was fetched
}

// pending returns the request that has no answer and no operation, or nil.
func (s Seen) pending() *v1alpha1.ApplyRequest {
	st := s.Trigger.Status
	switch {
	case st.Request == nil,
		st.LastHandledRequest != nil && st.LastHandledRequest.ID == st.Request.ID,
		s.inFlight() && st.Operation.RequestID == st.Request.ID:
		return nil
	}
	return st.Request
}

// next returns what to serve now, or nil. A person's word goes first.
func (s Seen) next() *ask {
	st := s.Trigger.Status
	if id := s.manualID(s.Trigger.Annotations[v1alpha1.RequestedAtAnnotation]); id != "" &&
		(st.LastHandledManual == nil || st.LastHandledManual.ID != id) {
		return &ask{id: id, origin: v1alpha1.OriginManual, reason: v1alpha1.ApplyManual, tip: true}
	}
	if req := s.pending(); req != nil {
		return &ask{id: req.ID, origin: v1alpha1.OriginRequest, reason: req.Reason, commit: req.Commit}
	}
	return nil
}

// manualID returns the id of what a value of the annotation asks for; empty for no value. The value is anybody's text of
// any length, so only its digest is used. Two triggers with the same value ask for two things: each its own fetch.
func (s Seen) manualID(value string) string {
	if value == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(string(s.Trigger.UID) + "/" + value))
	return "manual-" + hex.EncodeToString(sum[:8])
}

// serve is reached only while the Kustomization is held. It brings the artifact to the commit that is asked for and records
// the operation; the record is all that this pass does. While the source is in use by another operation neither may be
// done: a fetch could slip a commit under the other one.
func (s Seen) serve() Action {
	a := s.next()
	if a == nil {
		return Action{Reason: v1alpha1.ReasonSuspended, Status: s.status(s.report())}
	}
	old := s.ranBefore(a.id)
	if old != nil && a.origin == v1alpha1.OriginRequest && !s.again(*old) { // a person may take up an old value again
		r := s.report()
		r.answer(*old)
		return Action{Reason: v1alpha1.ReasonSuspended, Status: s.status(r)}
	}
	if !a.tip && s.current(a.commit) {
		return s.answer(a, v1alpha1.OutcomeCurrent, s.Kustomization.Status.LastAppliedRevision+" is applied already")
	}
	if s.SourceBusy != "" {
		r := s.report()
		r.progress = fmt.Sprintf("waiting for the operation of FluxTrigger %s, which uses the same GitRepository", s.SourceBusy)
		return Action{Reason: v1alpha1.ReasonProgressing, Status: s.status(r), Recheck: recheckBusy}
	}
	there := CommitOf(artifactRevision(s.GitRepository))
	if a.tip && s.GitRepository.Status.LastHandledReconcileAt == fetchPrefix+a.id && s.notFetched(a).Outcome == v1alpha1.OutcomeStale {
		a.commit = there
	}
	if a.commit == "" || a.commit != there {
		return s.fetch(a)
	}
	return s.record(a, there)
}

// record writes down the operation that carries out a.
func (s Seen) record(a *ask, commit string) Action {
	op := v1alpha1.Operation{
		RequestID:   a.id,
		Origin:      a.origin,
		Phase:       v1alpha1.OperationRequested,
		Reason:      a.reason,
		Commit:      commit,
		Token:       s.FreshToken,
		ApplierUID:  string(s.Kustomization.UID),
		SourceRef:   SourceOf(s.Kustomization).String(),
		SpecDigest:  SpecDigest(s.Kustomization),
		Generation:  s.Kustomization.Generation,
		Controller:  s.Controller.Leader,
		Before:      BaselineOf(s.Kustomization),
		RequestedAt: instant(s.Now),
		Message:     "recorded; to be resumed",
	}
	if s.Controller.CancelsHealthChecks {
		op.FreezeToken = s.FreshToken + "-freeze"
	}
	return Action{Reason: v1alpha1.ReasonApplying, Status: s.status(s.reportOn(&op)), Again: true}
}

// answer says what became of a without an operation. The first of requests that fail alike is told as an Event.
func (s Seen) answer(a *ask, o v1alpha1.RequestOutcome, message string) Action {
	r := s.report()
	last := r.handled
	if a.origin == v1alpha1.OriginManual {
		last = r.manual
	}
	act := Action{Reason: v1alpha1.ReasonSuspended}
	if o == v1alpha1.OutcomeRequestFailed && (last == nil || last.Outcome != o) {
		act.Event = &Event{Warning: true, Reason: v1alpha1.ReasonApplyRequestFailed, Message: fmt.Sprintf("Kustomization %s: %s", s.applier(), message)}
	}
	r.handle(v1alpha1.Operation{Origin: a.origin}, v1alpha1.HandledRequest{ID: a.id, Outcome: o, Message: message})
	act.Status = s.status(r)
	return act
}

// current says that commit is applied to the spec there is now and nothing has run since: the newest operation did it, and
// was one of ours. With which spec somebody else's ran is not known.
// What Flux says of itself is no proof: while suspended, observedGeneration moves and Ready stays True whatever the spec.
func (s Seen) current(commit string) bool {
	r := s.report()
	last, k := r.lastFinished(), s.Kustomization
	ours := last != nil && (last.Origin == v1alpha1.OriginRequest || last.Origin == v1alpha1.OriginManual)
	return ours && last.Phase == v1alpha1.OperationSucceeded && last.ApplierUID == string(k.UID) && last.SpecDigest == SpecDigest(k) &&
		isAt(last.AppliedRevision, commit) && k.Status.LastAppliedRevision == last.AppliedRevision &&
		apimeta.IsStatusConditionTrue(k.Status.Conditions, meta.ReadyCondition)
}

// fetch makes source-controller look at the branch, once per request, and answers when that did not bring the commit. A
// stamp of another trigger's holder that is not handled yet is waited for, because stamping it over would lose it.
func (s Seen) fetch(a *ask) Action {
	g := s.GitRepository
	token, newest, handled := fetchPrefix+a.id, g.Annotations[meta.ReconcileRequestAnnotation], g.Status.LastHandledReconcileAt
	if handled == token {
		no := s.notFetched(a)
		return s.answer(a, no.Outcome, no.Message)
	}
	what := "commit " + a.commit
	if a.tip {
		what = "the tip of the branch"
	}
	r := s.report()
	r.progress = fmt.Sprintf("waiting for source-controller to fetch %s into GitRepository %s/%s", what, g.Namespace, g.Name)
	act := Action{Reason: v1alpha1.ReasonProgressing, Status: s.status(r)}
	if newest == token || strings.HasPrefix(newest, fetchPrefix) && newest != handled {
		return act
	}
	act.Verb, act.Token, act.Guarded = Fetch, token, true
	return act
}

// notFetched says what became of a request for whose sake the branch was looked at: that it failed, or that the branch is
// elsewhere.
func (s Seen) notFetched(a *ask) v1alpha1.HandledRequest {
	g := s.GitRepository
	h := v1alpha1.HandledRequest{ID: a.id, Outcome: v1alpha1.OutcomeRequestFailed}
	ready := apimeta.FindStatusCondition(g.Status.Conditions, meta.ReadyCondition)
	switch {
	case g.Spec.Suspend:
		h.Message = fmt.Sprintf("GitRepository %s/%s is suspended and fetches nothing; resume it (spec.suspend)", g.Namespace, g.Name)
	case ready != nil && ready.Status == metav1.ConditionFalse:
		h.Message = fmt.Sprintf("GitRepository %s/%s: %s: %s", g.Namespace, g.Name, ready.Reason,
			strings.ReplaceAll(ready.Message, g.Spec.URL, publicURL(g)))
	case artifactRevision(g) == "":
		h.Message = fmt.Sprintf("GitRepository %s/%s has no artifact", g.Namespace, g.Name)
	default:
		h.Outcome = v1alpha1.OutcomeStale
		h.Message = fmt.Sprintf("the branch is at %s", artifactRevision(g))
	}
	return h
}

// ranBefore returns the finished operation that carried out the request of that id, or nil.
func (s Seen) ranBefore(id string) *v1alpha1.Operation {
	h := s.Trigger.Status.History
	if op := s.Trigger.Status.Operation; op != nil && op.Phase.Final() && op.RequestID == id {
		return op
	}
	if i := slices.IndexFunc(h, func(op v1alpha1.Operation) bool { return op.RequestID == id }); i >= 0 {
		return &h[i]
	}
	return nil
}
