package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// +kubebuilder:rbac:groups="",resources=limitranges;resourcequotas,verbs=list

// roomWithin is how long the limits of a namespace may take to read; the API server waits for the answer all the while.
const roomWithin = time.Second

// RoomOf reads what namespaces allow, as it is at that moment. live reads past any cache.
func RoomOf(live client.Reader) func(ctx context.Context, namespace string) (inject.Room, error) {
	return func(ctx context.Context, namespace string) (inject.Room, error) {
		ctx, end := context.WithTimeout(ctx, roomWithin)
		defer end()
		var ranges corev1.LimitRangeList
		if err := live.List(ctx, &ranges, client.InNamespace(namespace)); err != nil {
			return inject.Room{}, fmt.Errorf("list the LimitRanges of %s: %w", namespace, err)
		}
		var quotas corev1.ResourceQuotaList
		if err := live.List(ctx, &quotas, client.InNamespace(namespace)); err != nil {
			return inject.Room{}, fmt.Errorf("list the ResourceQuotas of %s: %w", namespace, err)
		}
		return inject.Room{Ranges: ranges.Items, Quotas: quotas.Items}, nil
	}
}

// judge says what becomes of a pod. Only for one that is to have a holder is it asked what its namespace allows. Where that
// cannot be read, the pod gets the holder it would get without limits. Most namespaces have none; and a pod that is refused
// is made again a moment later, while one that came without its holder goes on without.
func (h *Handler) judge(ctx context.Context, log logr.Logger, pod []byte, namespace string, policy inject.Policy) (inject.Result, error) {
	result, err := h.inject(pod, namespace, policy, inject.Room{})
	if err != nil || result.Skip != "" {
		return result, err
	}
	room, err := h.room(ctx, namespace)
	if err != nil {
		log.Error(err, "a pod gets its holder as in a namespace without limits")
		return result, nil
	}
	if room.Empty() {
		return result, nil
	}
	return h.inject(pod, namespace, policy, room)
}
