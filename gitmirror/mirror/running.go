package mirror

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/branch"
	"github.com/holdfast-gitops/holdfast/gitmirror/capture"
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
	sources  sync.WaitGroup                   // what feeds the joiner
	inHand   atomic.Int64                     // changes between their stream and the branch
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
	m.lines.Go(func() {
		joined := make(chan struct{})
		go func() {
			defer close(joined)
			_ = r.joiner.Start(ctx) // it has no other end than ctx's and ours
		}()
		r.submit(joined)
	})
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
			r.sources.Go(func() { r.consider(sub, res) })
		}
	}
	for res, sub := range r.subs {
		if !wanted[res] {
			sub.Close()
			delete(r.subs, res)
		}
	}
}

// finish lets what the streams brought go on to the branch once they have ended.
func (r *running) finish() {
	r.sources.Wait()
	r.joiner.Finish()
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
			r.mirror.opts.Metrics.skipped(skip)
			continue
		}
		hand := r.joiner.Observe
		if c.Initial {
			hand = r.joiner.Pass
		}
		r.inHand.Add(1)
		if hand(r.ctx, c.Key, c) != nil {
			return // the target ended
		}
	}
}

// submit leads attributed changes to the branch until the joiner has ended.
func (r *running) submit(joined <-chan struct{}) {
	for {
		select {
		case a := <-r.joiner.Out():
			r.decide(a.Payload, a.Fact)
			if r.inHand.Add(-1) == 0 {
				r.mirror.news.add(&r.name)
			}
		case <-joined:
			return
		}
	}
}

// decide submits a change that is an edit. It waits while the branch keeps too much already.
func (r *running) decide(c capture.Candidate, f *fact.Fact) {
	t := r.target.Load()
	edit, skip := capture.Decide(c, f, t.Triggered)
	if skip != "" {
		r.mirror.opts.Metrics.skipped(skip)
		return
	}
	made := edit.Made
	if made.IsZero() {
		made = time.Now().UTC()
	}
	by := author.Of(edit.Username)
	if edit.Resync {
		by = t.Committer
	}
	r.mirror.opts.Metrics.edited(edit)
	err := r.worker.Submit(r.ctx, branch.Edit{Target: r.name, Author: by, Impersonator: edit.Impersonator, Intent: edit.Intent, At: made})
	if err != nil {
		r.mirror.opts.Log.Error(err, "edit not taken", "target", r.name, "object", edit.Intent.Object.String(), "author", by.Name)
	}
}
