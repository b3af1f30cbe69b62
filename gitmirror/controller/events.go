package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

const (
	// reporter is who an Event says it is by.
	reporter = "holdfast.dev/gitmirror"
	// eventBound is how long one Event may take.
	eventBound = 5 * time.Second
)

// TellRefused tells people of refused edits by Events on the target, written one by one: the recorder of client-go folds
// those of one reason into a series and keeps the first message only. What concerns a target that is gone is told to
// nobody. newID returns what makes an Event's name unique.
func TellRefused(c client.Client, newID func() string, log logr.Logger) func(context.Context, types.NamespacedName, mirror.Refusal) {
	return func(ctx context.Context, target types.NamespacedName, refused mirror.Refusal) {
		ctx, cancel := context.WithTimeout(ctx, eventBound)
		defer cancel()
		var t v1alpha1.GitTarget
		if c.Get(ctx, target, &t) != nil {
			return
		}
		id, now := refused.Object, time.Now().UTC()
		err := c.Create(ctx, &eventsv1.Event{
			ObjectMeta:          metav1.ObjectMeta{Namespace: t.Namespace, Name: fmt.Sprintf("%.200s.%.32s", t.Name, strings.ToLower(newID()))},
			EventTime:           metav1.NewMicroTime(now),
			ReportingController: reporter,
			ReportingInstance:   reporter,
			Action:              "Mirror",
			Reason:              string(v1alpha1.ReasonEditRefused),
			Type:                corev1.EventTypeWarning,
			Note:                status.Message("%s", refused.Message),
			Regarding: corev1.ObjectReference{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "GitTarget",
				Namespace: t.Namespace, Name: t.Name, UID: t.UID, ResourceVersion: t.ResourceVersion,
			},
			Related: &corev1.ObjectReference{
				APIVersion: metav1.GroupVersion{Group: id.Group, Version: id.Version}.String(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
			},
		})
		if err != nil {
			log.Error(err, "an Event could not be written", "target", target, "reason", v1alpha1.ReasonEditRefused)
		}
	}
}
