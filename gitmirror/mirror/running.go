package mirror

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/capture"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/watch"
)

// running is a mirrored target: its subscriptions, and its own line of changes that wait for their facts, so that one
// target never waits for another's.
type running struct {
	name   types.NamespacedName
	key    branchKey
	mirror *Mirror
	worker *branch.Worker
	joiner *audit.Joiner[capture.Candidate]
	ctx    context.Context
	cancel context.CancelFunc

	target   atomic.Pointer[Target]
	subs     map[Resource]*watch.Subscription // under the mirror's lock
	reported uint64                           // newest refusal a person was told of; the teller's own
}

// newRunning starts a target without any subscription.
func (m *Mirror) newRunning(t Target, key branchKey, w *branch.Worker) *running {
	ctx, cancel := context.WithCancel(m.ctx)
	r := &running{
		name: t.Name, key: key, mirror: m, worker: w, joiner: audit.NewJoiner[capture.Candidate](m.opts.Facts),
		ctx: ctx, cancel: cancel, subs: map[Resource]*watch.Subscription{},
	}
	r.target.Store(&t)
	m.wg.Go(func() { _ = r.joiner.Start(ctx) }) // it returns nil when ctx ends
	m.wg.Go(r.submit)
	return r
}

// set subscribes to what t names and leaves what it does not. The caller holds the mirror's lock.
func (r *running) set(t Target) {
	r.target.Store(&t)
	wanted := map[Resource]bool{}
	for _, res := range t.Resources {
		wanted[res] = true
		if r.subs[res] == nil {
			sub := r.mirror.streams.Subscribe(watch.Scope{Resource: res.GroupVersionResource, Namespace: r.name.Namespace})
			r.subs[res] = sub
			r.mirror.wg.Go(func() { r.consider(sub, res) })
		}
	}
	for res, sub := range r.subs {
		if !wanted[res] {
			sub.Close()
			delete(r.subs, res)
		}
	}
}

// consider leads the events of one stream to the joiner, where what is nobody's edit waits for nothing.
func (r *running) consider(sub *watch.Subscription, res Resource) {
	defer sub.Close()
	for {
		ev, err := sub.Next(r.ctx)
		if err != nil {
			return // the target or the stream ended
		}
		c, skip := capture.Consider(capture.Seen{
			Resource: res.Resource, Old: ev.Old, New: ev.New, Initial: ev.Type == watch.Initial, Replayed: ev.Replayed,
		})
		if skip != "" {
			continue
		}
		hand := r.joiner.Observe
		if c.Initial {
			hand = r.joiner.Pass
		}
		if hand(r.ctx, c.Key, c) != nil {
			return // the target ended
		}
	}
}

// submit leads attributed changes to the branch.
func (r *running) submit() {
	for {
		select {
		case a := <-r.joiner.Out():
			r.decide(a.Payload, a.Fact)
		case <-r.ctx.Done():
			return
		}
	}
}

// decide submits a change that is an edit. It waits while the branch keeps too much already.
func (r *running) decide(c capture.Candidate, f *fact.Fact) {
	t := r.target.Load()
	edit, skip := capture.Decide(c, f, t.Triggered)
	if skip != "" {
		return
	}
	made := edit.Made
	if made.IsZero() {
		made = time.Now().UTC()
	}
	err := r.worker.Submit(r.ctx, branch.Edit{Target: r.name, Author: authorOf(edit, t.Committer), Intent: edit.Intent, At: made})
	if err != nil && r.ctx.Err() == nil {
		r.mirror.opts.Log.Error(err, "edit not taken", "target", r.name, "object", edit.Intent.Object.String())
	}
}

// authorOf is who the commit of an edit is by.
func authorOf(e capture.Edit, committer author.Author) author.Author {
	if e.Resync {
		return committer
	}
	return author.Of(e.Username)
}

// State returns how a target does; false when it is not mirrored.
func (m *Mirror) State(name types.NamespacedName) (State, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.targets[name]
	if r == nil {
		return State{}, false
	}
	snap := r.worker.Snapshot()
	own := snap.Targets[name]
	s := State{
		Pending: own.Pending > 0, Pushed: own.Pushed,
		Tip: snap.Tip, Busy: snap.Busy, QuietSince: snap.QuietSince, ForeignMoves: snap.ForeignMoves,
	}
	if own.Err != nil {
		s.PathErr = own.Err.Error()
	}
	if snap.Err != nil && s.Pending {
		s.PushErr = snap.Err.Error()
	}
	for _, res := range r.target.Load().Resources {
		stream := conditions.Stream{Resource: res.GroupResource().String()}
		if sub := r.subs[res]; sub != nil {
			st := sub.Status()
			stream.Synced = st.Running()
			if st.Err != nil {
				stream.Err, stream.Denied = st.Err.Error(), apierrors.IsForbidden(st.Err)
			}
		}
		s.Streams = append(s.Streams, stream)
	}
	return s, true
}

// reportRefusals tells of each refused edit of a target once.
func (m *Mirror) reportRefusals(ctx context.Context, name types.NamespacedName) {
	m.mu.Lock()
	r := m.targets[name]
	m.mu.Unlock()
	if r == nil {
		return
	}
	for _, refused := range r.worker.Snapshot().Targets[name].Refused {
		if refused.Sequence <= r.reported {
			continue
		}
		r.reported = refused.Sequence
		m.opts.Refused(ctx, name, fmt.Sprintf(
			"an edit of %s by %s is not in Git: %s", refused.Object, refused.Author.Name, refused.Reason))
	}
}
