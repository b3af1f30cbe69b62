package flux

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	"github.com/holdfast-gitops/holdfast/test/sim/turn"
)

// Source is source-controller, for GitRepositories.
type Source struct {
	Env
	sources *apiserver.Kind
	cache   *apiserver.Cache
	queue   *queue
	task    *turn.Task
	down    bool
}

// NewSource starts source-controller.
func NewSource(e Env) *Source {
	s := &Source{Env: e, queue: newQueue()}
	s.sources = e.kind(sourcev1.GitRepositoryKind)
	s.cache = e.Client.Server.NewCache(s.sources)
	s.Client.Cache = s.cache
	for _, o := range s.cache.List(s.sources) {
		s.queue.add(keyOf(o), e.Now())
	}
	return s
}

// Down makes Git answer nobody, or answer again.
func (s *Source) Down(down bool) { s.down = down }

// Steps returns what can happen in the process now.
func (s *Source) Steps() []Step {
	var steps []Step
	if s.cache.Behind(s.sources) > 0 {
		steps = append(steps, Step{"source-controller sees a change", s.deliver})
	}
	if s.task != nil {
		if s.task.ReadyAt(s.Now()) {
			steps = append(steps, Step{"source-controller " + s.task.Next(), s.goOn})
		}
		return steps
	}
	for _, key := range s.queue.keys() {
		if !s.queue.due[key].After(s.Now()) {
			steps = append(steps, Step{fmt.Sprintf("source-controller reconciles %s", key), func() { s.start(key) }})
		}
	}
	return steps
}

// Wake returns when something can happen next without anybody's doing; zero: never.
func (s *Source) Wake() time.Time {
	var wake time.Time
	for _, key := range s.queue.keys() {
		if at := s.queue.due[key]; wake.IsZero() || at.Before(wake) {
			wake = at
		}
	}
	return wake
}

func (s *Source) deliver() {
	if c, ok := s.cache.Advance(s.sources); ok && wakes(c) {
		s.queue.add(c.Key, s.Now())
	}
}

func (s *Source) start(key types.NamespacedName) {
	s.queue.take(key)
	s.task = turn.Begin("starts", func(pause turn.Pause) {
		after, err := s.reconcile(key, pause)
		switch {
		case err != nil:
			s.queue.add(key, s.Now().Add(s.queue.backoff(key)))
		case after > 0:
			s.queue.forget(key)
			s.queue.add(key, s.Now().Add(after))
		}
	})
	s.goOn()
}

func (s *Source) goOn() {
	s.task.Go()
	if s.task.Ended() {
		s.task = nil
	}
}

// reconcile records the token on every return; a suspended source is not fetched (gitrepository_controller.go).
func (s *Source) reconcile(key types.NamespacedName, pause turn.Pause) (time.Duration, error) {
	g := &sourcev1.GitRepository{}
	if err := s.Client.Get(context.Background(), key, g); err != nil {
		return 0, nil
	}
	before := g.DeepCopy()
	var after time.Duration
	var failed error
	if !g.Spec.Suspend {
		pause("fetches", turn.When{})
		if head := s.Repo.Head(); s.down {
			failed = errors.New("failed to checkout and determine revision: unable to clone")
			s.condition(g, metav1.ConditionFalse, sourcev1.GitOperationFailedReason, failed.Error())
		} else {
			after = g.Spec.Interval.Duration
			if g.Status.Artifact == nil || g.Status.Artifact.Revision != head.Revision() {
				g.Status.Artifact = &meta.Artifact{
					Revision: head.Revision(), Path: head.Hash + ".tar.gz", URL: "http://source/" + head.Hash + ".tar.gz",
					Digest: "sha256:" + head.Hash, LastUpdateTime: metav1.NewTime(s.Now().UTC().Truncate(time.Second)),
				}
			}
			g.Status.ObservedGeneration = g.Generation
			s.condition(g, metav1.ConditionTrue, meta.SucceededReason, "stored artifact for revision '"+head.Revision()+"'")
		}
	}
	if token, ok := meta.ReconcileAnnotationValue(g.GetAnnotations()); ok {
		g.Status.LastHandledReconcileAt = token
	}
	pause("writes the status", turn.When{})
	err := s.Client.Status().Patch(context.Background(), g, client.MergeFrom(before), client.FieldOwner("source-controller"))
	return after, errors.Join(failed, client.IgnoreNotFound(err))
}

func (s *Source) condition(g *sourcev1.GitRepository, status metav1.ConditionStatus, reason, message string) {
	apimeta.SetStatusCondition(&g.Status.Conditions, metav1.Condition{
		Type: meta.ReadyCondition, Status: status, Reason: reason, Message: message, ObservedGeneration: g.Generation,
		LastTransitionTime: metav1.NewTime(s.Now().UTC().Truncate(time.Second)),
	})
}
