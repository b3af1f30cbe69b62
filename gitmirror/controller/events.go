package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// TellRefused tells people of refused edits by Events on the target. What concerns a target that is gone is told to nobody.
func TellRefused(c client.Reader, to events.EventRecorder) func(context.Context, types.NamespacedName, string) {
	return func(ctx context.Context, target types.NamespacedName, message string) {
		var t v1alpha1.GitTarget
		if c.Get(ctx, target, &t) != nil {
			return
		}
		to.Eventf(&t, nil, corev1.EventTypeWarning, string(v1alpha1.ReasonEditRefused), "Mirror", "%s", status.Message("%s", message))
	}
}
