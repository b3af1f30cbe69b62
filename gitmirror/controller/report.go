package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/statusapply"
)

// writeStatus replaces all that gitmirror owns of obj's status with next, unless it says so already.
func writeStatus[T any](ctx context.Context, c client.Client, kind string, obj client.Object, now, next T) error {
	return statusapply.Write(ctx, c, v1alpha1.MirrorFieldManager, kind, obj, now, next)
}
