package missing

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controllerName is what Events say they come from.
const controllerName = "holdfast-injector"

// The bounds of an API server for an Event.
const (
	maxNote      = 1024
	maxEventName = 253 - 17
)

// event is about one pod and has a name made from what it says, so that whoever leads next does not tell it again.
func (r *Reconciler) event(namespace string, t Told, now time.Time) *eventsv1.Event {
	sum := sha256.Sum256([]byte(string(t.Pod.UID) + " " + string(t.Reason)))
	kind, action := corev1.EventTypeWarning, "Inject"
	if t.Reason == ReasonRestarting {
		kind, action = corev1.EventTypeNormal, "Evict"
	}
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: cut(t.Pod.Name, maxEventName) + "." + hex.EncodeToString(sum[:8])},
		EventTime:           metav1.NewMicroTime(now),
		ReportingController: controllerName,
		ReportingInstance:   cut(r.Pod, 128),
		Action:              action,
		Reason:              string(t.Reason),
		Type:                kind,
		Note:                cut(t.Note, maxNote),
		Regarding:           corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: t.Pod.Name, UID: t.Pod.UID},
	}
}

// cut is the first n bytes of a text, on a whole character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}
