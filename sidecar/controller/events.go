package controller

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/redact"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// reporter is who an Event says it is by.
const reporter = "holdfast.dev/holder"

// tell logs and records the action's Event. Events are written one by one: the recorder of client-go folds those of one
// reason into a series and drops the messages, which name the commit or the person here. One that cannot be written is
// logged, because the work it tells of is done; in a namespace that is being deleted none can be. The same news goes to
// Flux's notification-controller, which is asked for nothing.
func (r *Reconciler) tell(ctx context.Context, s hold.Seen, a hold.Action) {
	if a.Event == nil {
		return
	}
	e, l := *a.Event, log.FromContext(ctx)
	e.Message = redact.Text(e.Message)
	l.Info("transition", "reason", e.Reason, "detail", e.Message)
	r.Metrics.told(e)
	if r.Notify != nil {
		r.Notify.Post(post(s, a, e))
	}
	switch err := r.Client.Create(ctx, newEvent(s, e)); {
	case err == nil:
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		l.Info("no Event was written, because the trigger's namespace is being deleted", "reason", e.Reason)
	default:
		l.Error(err, "an Event could not be written", "reason", e.Reason)
	}
}

// newEvent returns e about the trigger, named after the pass so that no two share a name.
func newEvent(s hold.Seen, e hold.Event) *eventsv1.Event {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	ref := s.Trigger.Spec.KustomizationRef
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Trigger.Namespace,
			Name:      fmt.Sprintf("%s.%x", strings.TrimRight(fmt.Sprintf("%.200s", s.Trigger.Name), "-."), s.Now.UnixNano()),
		},
		EventTime:           metav1.NewMicroTime(s.Now),
		ReportingController: reporter,
		ReportingInstance:   reporter,
		Action:              "Hold",
		Reason:              string(e.Reason),
		Type:                kind,
		Note:                status.Message("%s", e.Message),
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "FluxTrigger",
			Namespace: s.Trigger.Namespace, Name: s.Trigger.Name, UID: s.Trigger.UID, ResourceVersion: s.Trigger.ResourceVersion,
		},
		Related: &corev1.ObjectReference{Kind: "Kustomization", Namespace: ref.Namespace, Name: ref.Name},
	}
}
