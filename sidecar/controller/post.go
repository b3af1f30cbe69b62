package controller

import (
	"cmp"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// Notifier takes what people are told of, for Flux's notification-controller. Post must not wait.
type Notifier interface{ Post(eventv1.Event) }

// metadataPrefix is that of the keys notification-controller keeps of an event about a Kustomization; it drops all others.
const metadataPrefix = "kustomize.toolkit.fluxcd.io/"

// post returns e as notification-controller takes it. It is about the Kustomization, not about the trigger, because an Alert
// can name no kind but Flux's own: what is about another kind reaches nobody. The trigger is in the metadata. An event about
// an operation names the revision and the token, so that two operations are two pieces of news, also in the same words.
func post(s hold.Seen, a hold.Action, e hold.Event) eventv1.Event {
	ref := s.Trigger.Spec.KustomizationRef
	p := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{
			APIVersion: kustomizev1.GroupVersion.String(), Kind: kustomizev1.KustomizationKind,
			Namespace: ref.Namespace, Name: ref.Name,
		},
		Severity:  eventv1.EventSeverityInfo,
		Timestamp: metav1.NewTime(s.Now.UTC()),
		Message:   status.Message("%s", e.Message),
		Reason:    string(e.Reason),
		Metadata:  map[string]string{metadataPrefix + "trigger": s.Trigger.Namespace + "/" + s.Trigger.Name},
	}
	if e.Warning {
		p.Severity = eventv1.EventSeverityError
	}
	if k := s.Kustomization; k != nil {
		p.InvolvedObject.UID, p.InvolvedObject.ResourceVersion = k.UID, k.ResourceVersion
	}
	st := cmp.Or(a.Status, &s.Trigger.Status)
	if op := st.Operation; op != nil && ofOperation(e.Reason) {
		p.Metadata[metadataPrefix+eventv1.MetaTokenKey] = op.Token
		if r := revision(op, cmp.Or(st.Source, s.Trigger.Status.Source)); r != "" {
			p.Metadata[metadataPrefix+eventv1.MetaRevisionKey] = r
		}
	}
	return p
}

// ofOperation says that an event with the reason is about how the newest operation goes. Only those name its revision: from
// a revision and a severity notification-controller makes the status of a commit.
func ofOperation(r v1alpha1.Reason) bool {
	switch r {
	case v1alpha1.ReasonApplied, v1alpha1.ReasonApplyFailed, v1alpha1.ReasonApplyUnresolved, v1alpha1.ReasonOperationUnfollowed:
		return true
	}
	return false
}

// revision names what op applies as Flux does: what was applied where that succeeded, else the commit asked for. It is empty
// where neither is known.
func revision(op *v1alpha1.Operation, source *v1alpha1.TriggerSource) string {
	switch {
	case op.Phase == v1alpha1.OperationSucceeded && op.AppliedRevision != "":
		return op.AppliedRevision
	case op.Commit == "" || source == nil:
		return ""
	case len(op.Commit) == 64:
		return source.Branch + "@sha256:" + op.Commit
	}
	return source.Branch + "@sha1:" + op.Commit
}
