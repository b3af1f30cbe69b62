package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// The Lease of the replica that looks for pods without a holder. A POST names nothing, so create cannot be limited.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=holdfast-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=holdfast-system,resources=leases,resourceNames=holdfast-injector,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=holdfast-system,resources=events,verbs=create;patch

const (
	leaseName    = "holdfast-injector"
	leaseRequest = 5 * time.Second // for one request about it, half of what a leader has to renew it
)

// newLock returns the lock of the replica that leads, under a name that no other has. Its Lease has an owner, with which it
// goes; while owner returns nil there is nothing to lead, and none is made.
func newLock(config *rest.Config, namespace, pod string, owner func() *metav1.OwnerReference) (*resourcelock.LeaseLock, error) {
	config = rest.AddUserAgent(config, "leader-election")
	config.Timeout = leaseRequest
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the election of a leader: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     leases{client, owner},
		LockConfig: resourcelock.ResourceLockConfig{Identity: pod + "_" + string(uuid.NewUUID())},
	}, nil
}

// leases are those of a namespace, and what is written of them has an owner.
type leases struct {
	coordinationclient.LeasesGetter
	owner func() *metav1.OwnerReference
}

func (l leases) Leases(namespace string) coordinationclient.LeaseInterface {
	return owned{l.LeasesGetter.Leases(namespace), l.owner}
}

type owned struct {
	coordinationclient.LeaseInterface
	owner func() *metav1.OwnerReference
}

func (o owned) Create(ctx context.Context, l *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error) {
	owner := o.owner()
	if owner == nil {
		return nil, errors.New("there is no webhook configuration that the Lease could belong to")
	}
	l.OwnerReferences = []metav1.OwnerReference{*owner}
	return o.LeaseInterface.Create(ctx, l, opts)
}

// Update gives an owner to a Lease that was made without. Where that is forbidden, as by an API server that asks for the
// right to delete what is given an owner, who leads matters more.
func (o owned) Update(ctx context.Context, l *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	owner := o.owner()
	if owner == nil || len(l.OwnerReferences) > 0 {
		return o.LeaseInterface.Update(ctx, l, opts)
	}
	with := l.DeepCopy()
	with.OwnerReferences = []metav1.OwnerReference{*owner}
	got, err := o.LeaseInterface.Update(ctx, with, opts)
	if apierrors.IsForbidden(err) {
		return o.LeaseInterface.Update(ctx, l, opts)
	}
	return got, err
}
