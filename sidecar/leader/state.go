package leader

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// leaseName is what kustomize-controller calls its Lease. Source: its main.go@v1.9.6.
	leaseName = "kustomize-controller-leader-election"

	// fluxLease is how long a Lease of Flux lasts unless a flag says otherwise; it counts until a leader has been seen.
	// Source: fluxcd/pkg/runtime/leaderelection@v0.110.3.
	fluxLease = 35 * time.Second
)

// State is what is known about leadership at one instant.
type State struct {
	// Leads says that the kustomize-controller of this pod leads, or that there is no election.
	Leads bool

	// Controller is the identity of the process that leads, wherever it runs. It is empty with election off, and while
	// nobody leads or nothing was read yet; Leads tells the two apart.
	Controller string

	// Since is for how long this process has seen Controller lead. It begins anew with each identity, with nobody leading,
	// and with a restart of the holder.
	Since time.Duration

	// Lease is how long a leader that stopped renewing may believe that it leads. Zero with election off.
	Lease time.Duration
}

// LeaseOf names the Lease for which the kustomize-controller with that --watch-label-selector, in that namespace, competes.
// The selector counts as text: another spelling of the same selector makes another name, in Flux as here.
func LeaseOf(namespace, selector string) types.NamespacedName {
	name := leaseName
	if selector != "" {
		sum := sha256.Sum256([]byte(selector))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// observation is what the Lease said last. Instants count from when the process began, on its monotonic clock. The zero
// observation is that nobody was seen to lead since then.
type observation struct {
	identity string
	since    time.Duration // the instant at which identity was first seen
	lease    time.Duration // zero until a leader was seen
}

// next is the observation after reading the Lease at that instant, and whether somebody else leads by it. A Lease without
// a leader, or none at all, is identity "": its duration is no leader's, since whoever steps down writes one second.
func (o observation) next(identity string, lease, at time.Duration) (observation, bool) {
	if identity != "" && lease > 0 {
		o.lease = lease
	}
	if identity == o.identity {
		return o, false
	}
	o.identity, o.since = identity, at
	return o, true
}

// state is what the observation means at that instant to the holder in pod.
func (o observation) state(pod string, at time.Duration) State {
	s := State{Leads: leads(o.identity, pod), Controller: o.identity, Since: at - o.since, Lease: o.lease}
	if s.Lease == 0 {
		s.Lease = fluxLease
	}
	return s
}

// leads says that identity is a process of pod: the pod's name, "_" and what tells its processes apart.
func leads(identity, pod string) bool {
	i := strings.LastIndexByte(identity, '_')
	return i > 0 && identity[:i] == pod
}
