package sim

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/sidecar/leader"
	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// leaseLasts is how long a process that has lost its lease may go on writing: as long as the lease would have lasted. A
// process that was killed keeps others from the lease for as long.
const leaseLasts = 35 * time.Second

// identity names a process of kustomize-controller in its Lease.
type identity struct{ pod, process string }

// lead has a new process of kustomize-controller in the pod, which gets the lease.
func (w *World) lead(pod string) {
	w.processes++
	w.leads = identity{pod, fmt.Sprintf("%s_%d", pod, w.processes)}
	w.kustomize = append(w.kustomize, flux.NewKustomize(w.env(), w.leads.process))
	for _, h := range w.holders {
		if h.pod == pod {
			return
		}
	}
	w.holders = append(w.holders, &holder{w: w, pod: pod, dead: true})
}

// depose has a process in another pod get the lease, while the one before does not know yet that it has lost it.
func (w *World) depose() {
	if !w.revives.IsZero() {
		return // nobody leads
	}
	w.kustomize[len(w.kustomize)-1].Retire()
	w.zombies = append(w.zombies, w.now.Add(leaseLasts))
	w.lead(fmt.Sprintf("pod-%d", len(w.holders)+1))
}

// killLeader is kill -9 of the process that leads. Its pod starts it again, and gets the lease once that has run out.
func (w *World) killLeader() {
	if !w.revives.IsZero() {
		return
	}
	w.kustomize[len(w.kustomize)-1].Kill()
	w.revives = w.now.Add(leaseLasts)
}

// podSteps returns what time has brought to the pods.
func (w *World) podSteps() []flux.Step {
	var steps []flux.Step
	if !w.revives.IsZero() && !w.revives.After(w.now) {
		steps = append(steps, flux.Step{What: "kustomize-controller leads again in " + w.leads.pod, Do: func() {
			w.revives = time.Time{}
			w.kustomize = w.kustomize[:len(w.kustomize)-1]
			w.lead(w.leads.pod)
		}})
	}
	for _, h := range w.holders {
		if h.dead {
			steps = append(steps, flux.Step{What: "the holder of " + h.pod + " starts", Do: h.start})
		} else if h.sees != w.leads {
			steps = append(steps, flux.Step{What: "the holder of " + h.pod + " sees the Lease of " + w.leads.process, Do: h.seesLease})
		}
	}
	return steps
}

// seesLease has the holder read who leads.
func (h *holder) seesLease() {
	h.sees, h.since = h.w.leads, h.w.now
	h.enqueue(h.w.now)
}

// Look has the holder read who leads now.
func (h *holder) Look(context.Context, client.Reader) error {
	if h.sees != h.w.leads {
		h.seesLease()
	}
	return nil
}

// State is what the holder knows of the lease.
func (h *holder) State() leader.State {
	return leader.State{Leads: h.sees.pod == h.pod, Controller: h.sees.process, Since: h.w.now.Sub(h.since), Lease: leaseLasts}
}
