package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/facts"
	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// Each fact is looked up several times, in other orders of events.
const lookups = 10

func TestFactsOfTheSimulatedControllers(t *testing.T) {
	for _, f := range facts.All() {
		t.Run(f.Name, func(t *testing.T) {
			for seed := range uint64(lookups) {
				w, err := newSimulated(seed)
				if err == nil {
					err = f.Check(t.Context(), facts.Look{World: w})
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// simulated is a world without a holder. Nothing moves in it but while somebody waits.
type simulated struct {
	*World
	s *scheduler
}

var _ facts.World = &simulated{}

func newSimulated(seed uint64) (*simulated, error) {
	w, err := newWorld(seed, newVisits())
	if err != nil {
		return nil, err
	}
	w.holders = nil
	s := &simulated{World: w, s: newScheduler(w, plan{})}
	return s, s.Await(context.Background(), "the first commit is applied", func(context.Context) (bool, string, error) {
		return w.applier().Status.LastAppliedRevision != "" && !w.kustomize[0].Busy(), "not yet", nil
	})
}

func (w *simulated) Client() client.Client     { return w.World.Client }
func (w *simulated) Key() types.NamespacedName { return app }

// Await lets one thing happen after the other.
func (w *simulated) Await(ctx context.Context, what string, done func(context.Context) (bool, string, error)) error {
	for range maxPeace {
		ok, saw, err := done(ctx)
		if ok || err != nil {
			return err
		}
		if actors := w.s.actors(); len(actors) > 0 {
			w.s.one(actors)
		} else if !w.s.skip(w.now.Add(10 * time.Minute)) {
			return fmt.Errorf("nothing will happen any more, and there is not: %s; there is: %s", what, saw)
		}
	}
	return fmt.Errorf("not within %d steps: %s", maxPeace, what)
}

func (w *simulated) Push(ctx context.Context, c facts.Content) (facts.Pushed, error) {
	n := w.Repo.Pushed()
	commit := w.Repo.Push(fmt.Sprintf("content %d", n), c == facts.Broken)
	w.unhealthy = c == facts.NeverReady
	p := facts.Pushed{Revision: commit.Revision(), Marker: commit.Revision()}
	if err := w.patchSource(fmt.Sprintf(`{"metadata":{"annotations":{%q:"push-%d"}}}`, meta.ReconcileRequestAnnotation, n)); err != nil {
		return p, err
	}
	return p, w.Await(ctx, "the push is fetched", func(context.Context) (bool, string, error) {
		r := revisionOf(w.object(sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind), repo))
		return r == p.Revision && w.kustomize[0].Fresh(), r, nil
	})
}

// Placed returns the revision of the object that is written last.
func (w *simulated) Placed(context.Context) (string, error) {
	for _, objects := range w.Truth.Cluster {
		return objects[flux.LastObject], nil
	}
	return "", nil
}

func (w *simulated) KillController(context.Context) error {
	w.killLeader()
	return nil
}

func (w *simulated) ReviveController(context.Context) error {
	w.revives = w.now
	return nil
}
