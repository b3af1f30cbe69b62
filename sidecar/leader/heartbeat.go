package leader

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	applycoordinationv1 "k8s.io/client-go/applyconfigurations/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

const (
	heartbeatPrefix = "holdfast-holder-"
	renewEvery      = 10 * time.Second
	heartbeatLasts  = 30 * time.Second // two renewals may fail
)

// Heartbeat keeps a Lease renewed for as long as the holder runs. Whoever watches it goes by when it saw the Lease move,
// never by the times in it, which are this machine's.
type Heartbeat struct {
	client   client.Client
	name     types.NamespacedName
	identity string
	now      func() time.Time
}

// NewHeartbeat returns the heartbeat of the holder in the pod called identity, as a Lease in namespace. An identity that
// cannot be part of a name is an error.
func NewHeartbeat(c client.Client, namespace, identity string, now func() time.Time) (*Heartbeat, error) {
	name := heartbeatPrefix + strings.ToLower(identity)
	if wrong := validation.IsDNS1123Subdomain(name); identity == "" || len(wrong) > 0 {
		return nil, fmt.Errorf("no Lease can be named after %q; give the pod's name as --identity (%s)", identity, strings.Join(wrong, "; "))
	}
	return &Heartbeat{client: c, name: types.NamespacedName{Namespace: namespace, Name: name}, identity: identity, now: now}, nil
}

// Name is "namespace/name" of the Lease.
func (h *Heartbeat) Name() string { return h.name.String() }

// Start renews the Lease until ctx ends. A renewal that fails is no error: the first of a row is logged, and the one that
// succeeds after it.
func (h *Heartbeat) Start(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	logger := log.FromContext(ctx).WithValues("lease", h.Name())
	failing := false
	for {
		err := h.renew(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			logger.Error(err, "the holder's own Lease is not renewed; others will take this holder for gone")
		case err == nil && failing:
			logger.Info("the holder's own Lease is renewed again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// renew writes the whole Lease, which makes it when it is not there.
func (h *Heartbeat) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, renewEvery)
	defer cancel()
	spec := applycoordinationv1.LeaseSpec().
		WithHolderIdentity(h.identity).
		WithLeaseDurationSeconds(int32(heartbeatLasts / time.Second)).
		WithRenewTime(metav1.NewMicroTime(h.now().UTC()))
	lease := applycoordinationv1.Lease(h.name.Name, h.name.Namespace).
		WithLabels(map[string]string{v1alpha1.HolderLabel: "true"}).
		WithSpec(spec)
	if err := h.client.Apply(ctx, lease, client.FieldOwner(v1alpha1.HolderFieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("renew Lease %s: %w", h.name, err)
	}
	return nil
}

// Release deletes the Lease, so that nobody waits for it to run out. Call it last, when this holder writes nothing more.
func (h *Heartbeat) Release(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.name.Namespace, Name: h.name.Name}}
	if err := client.IgnoreNotFound(h.client.Delete(ctx, lease)); err != nil {
		return fmt.Errorf("delete Lease %s: %w", h.name, err)
	}
	return nil
}
