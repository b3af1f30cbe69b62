package sim

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
)

// retry is after how long gitmirror asks again.
const retry = 30 * time.Second

// mirror is gitmirror as the holder sees it: somebody who asks for the branch's tip to be applied, and asks again.
type mirror struct {
	w       *World
	asked   int
	wants   bool      // somebody pushed or edited since it last asked
	again   time.Time // when it asks again for what did not come off; zero: it does not
	retries int       // left for the request that failed last
}

// step returns what gitmirror can do now, or nil.
func (m *mirror) step() func() {
	f := m.w.trigger()
	if f == nil || !f.DeletionTimestamp.IsZero() {
		return nil
	}
	if m.wants || !m.again.IsZero() && !m.again.After(m.w.now) {
		return func() { m.ask(f) }
	}
	req, h := f.Status.Request, f.Status.LastHandledRequest
	answered := req != nil && h != nil && h.ID == req.ID
	if !answered || !m.again.IsZero() || m.retries == 0 || h.Outcome == v1alpha1.OutcomeSucceeded || h.Outcome == v1alpha1.OutcomeCurrent {
		return nil
	}
	return func() {
		m.retries--
		m.again = m.w.now.Add(retry)
	}
}

// ask writes a request for what the branch has now, with the one builder of all gitmirror's fields.
func (m *mirror) ask(f *v1alpha1.FluxTrigger) {
	head := m.w.Repo.Head()
	if m.wants {
		m.retries = 2
	}
	m.asked++
	u := &apiserver.Object{Object: map[string]any{"status": map[string]any{"request": map[string]any{
		"id": fmt.Sprintf("request-%d", m.asked), "reason": string(v1alpha1.ApplyForeignCommit), "commit": head.Hash, "revision": head.Revision(),
		"requestedAt": m.w.now.UTC().Format(time.RFC3339),
	}}}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("FluxTrigger"))
	u.SetNamespace(f.Namespace)
	u.SetName(f.Name)
	u.SetUID(f.UID)
	u.SetResourceVersion(f.ResourceVersion)
	err := m.w.Client.Status().Apply(context.Background(), client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(v1alpha1.MirrorFieldManager))
	m.w.told.write(m.w, "gitmirror", "asks", err)
	if err == nil {
		m.wants, m.again = false, time.Time{}
	}
}
