package facts

import (
	"context"
	"errors"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// atRestWith suspends the Kustomization, has the content fetched, and returns what the Kustomization is like then.
func (l Look) atRestWith(ctx context.Context, c Content) (*kustomizev1.Kustomization, Pushed, error) {
	if _, err := l.Rest(ctx, "rest"); err != nil {
		return nil, Pushed{}, err
	}
	p, err := l.Push(ctx, c)
	if err != nil {
		return nil, p, err
	}
	k, err := l.Kustomization(ctx)
	return k, p, err
}

// placed returns an error unless the cluster has what the commit brought.
func (l Look) placed(ctx context.Context, p Pushed) error {
	switch m, err := l.Placed(ctx); {
	case err != nil:
		return err
	case m != p.Marker:
		return fmt.Errorf("the cluster has %q, want %q", m, p.Marker)
	}
	return nil
}

var ofRuns = []Fact{
	{"a suspended return records the token, and applies nothing", func(ctx context.Context, l Look) error {
		before, p, err := l.atRestWith(ctx, Quick)
		if err != nil {
			return err
		}
		if err := l.Stamp(ctx, "T"); err != nil {
			return err
		}
		k, err := l.AwaitHandled(ctx, "T")
		if err != nil {
			return err
		}
		if l.placed(ctx, p) == nil {
			return errors.New("it was applied")
		}
		return want(ready(k) == ready(before) && total(k) == total(before) && k.Status.LastAppliedRevision == before.Status.LastAppliedRevision, k, "results as before")
	}},
	{"a fetch alone starts no run of what is suspended", func(ctx context.Context, l Look) error {
		before, _, err := l.atRestWith(ctx, Quick)
		if err != nil {
			return err
		}
		k, err := l.Rest(ctx, "later")
		if err != nil {
			return err
		}
		return want(total(k) == total(before) && k.Status.LastAttemptedRevision == before.Status.LastAttemptedRevision, k, "nothing attempted")
	}},
	{"a run says at its start that it has begun, on Ready and with the generation, before it records its token", func(ctx context.Context, l Look) error {
		before, _, err := l.atRestWith(ctx, Slow)
		if err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		k, err := l.AwaitStart(ctx)
		if err != nil {
			return err
		}
		return want(ready(k) == "Unknown "+meta.ProgressingReason && k.Status.LastHandledReconcileAt != "T1" && total(k) == total(before), k, "Ready Unknown, T1 not handled, history as before")
	}},
	{"a suspend does not stop the run that has begun, and is handled after it", func(ctx context.Context, l Look) error {
		before, p, err := l.atRestWith(ctx, Slow)
		if err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		if _, err := l.AwaitStart(ctx); err != nil {
			return err
		}
		k, err := l.Rest(ctx, "T2")
		if err != nil {
			return err
		}
		err = want(k.Status.LastAppliedRevision == p.Revision && ready(k) == "True "+meta.ReconciliationSucceededReason && historyOf(k) != historyOf(before), k, "the commit applied once T2 is handled")
		return errors.Join(err, l.placed(ctx, p))
	}},
	{"a push that is fetched in the middle of a run that is suspended by then is not applied", func(ctx context.Context, l Look) error {
		_, p, err := l.atRestWith(ctx, Slow)
		if err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		if _, err := l.AwaitStart(ctx); err != nil {
			return err
		}
		if err := l.Suspend(ctx, true, "T2"); err != nil {
			return err
		}
		if _, err := l.Push(ctx, Quick); err != nil {
			return err
		}
		if _, err := l.AwaitHandled(ctx, "T2"); err != nil {
			return err
		}
		k, err := l.Rest(ctx, "T3")
		if err != nil {
			return err
		}
		return errors.Join(l.placed(ctx, p), want(k.Status.LastAppliedRevision == p.Revision, k, "the first of the two commits applied"))
	}},
	{"a token that is written over while a run goes on never appears", func(ctx context.Context, l Look) error {
		if _, _, err := l.atRestWith(ctx, Slow); err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T0"); err != nil {
			return err
		}
		if _, err := l.AwaitStart(ctx); err != nil {
			return err
		}
		if err := errors.Join(l.Stamp(ctx, "T1"), l.Suspend(ctx, true, "T2")); err != nil {
			return err
		}
		var seen bool
		k, err := l.AwaitKustomization(ctx, "T2 is handled", func(k *kustomizev1.Kustomization) bool {
			seen = seen || k.Status.LastHandledReconcileAt == "T1"
			return k.Status.LastHandledReconcileAt == "T2"
		})
		return errors.Join(err, want(!seen, k, "T1 was never handled"))
	}},
	{"observedGeneration moves on a suspended return while Ready is True, although nothing was applied", func(ctx context.Context, l Look) error {
		before, _, err := l.atRestWith(ctx, Quick)
		if err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"spec":{"interval":"3h"}}`); err != nil {
			return err
		}
		k, err := l.AwaitKustomization(ctx, "the generation is observed", func(k *kustomizev1.Kustomization) bool {
			return k.Generation > before.Generation && k.Status.ObservedGeneration == k.Generation
		})
		return errors.Join(err, want(total(k) == total(before) && k.Status.LastAppliedRevision == before.Status.LastAppliedRevision, k, "nothing applied"))
	}},
	{"history counts a run that changed nothing", func(ctx context.Context, l Look) error {
		before, err := l.Rest(ctx, "rest")
		if err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		k, err := l.AwaitHandled(ctx, "T1")
		return errors.Join(err, want(total(k) > total(before) && k.Status.History[0].Digest == before.Status.History[0].Digest, k, "the same digest, counted once more"))
	}},
	{"a failed apply is tried again at retryInterval for as long as it is resumed", func(ctx context.Context, l Look) error {
		if err := l.Patch(ctx, "fact", `{"spec":{"retryInterval":"1s"}}`); err != nil {
			return err
		}
		if _, _, err := l.atRestWith(ctx, Broken); err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		k, err := l.AwaitKustomization(ctx, "three failures", func(k *kustomizev1.Kustomization) bool {
			return newest(k) == meta.ReconciliationFailedReason && total(k) >= 3
		})
		if err != nil {
			return err
		}
		return want(k.Status.LastHandledReconcileAt == "T1", k, "the token of the first of them recorded")
	}},
	{"no retry of a failed apply is left once a suspend is handled", func(ctx context.Context, l Look) error {
		if err := l.Patch(ctx, "fact", `{"spec":{"retryInterval":"1s"}}`); err != nil {
			return err
		}
		if _, _, err := l.atRestWith(ctx, Broken); err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		if _, err := l.AwaitKustomization(ctx, "a failure", func(k *kustomizev1.Kustomization) bool { return newest(k) == meta.ReconciliationFailedReason }); err != nil {
			return err
		}
		rested, err := l.Rest(ctx, "T2")
		if err != nil {
			return err
		}
		k, err := l.Rest(ctx, "T3")
		return errors.Join(err, want(total(k) == total(rested), k, "no further run"))
	}},
	{"a token is recorded although the source is missing, and nothing was applied", func(ctx context.Context, l Look) error {
		before, err := l.Rest(ctx, "rest")
		if err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"spec":{"sourceRef":{"name":"no-such-source"}}}`); err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		k, err := l.AwaitHandled(ctx, "T1")
		return errors.Join(err, want(ready(k) == "False "+meta.ArtifactFailedReason && total(k) == total(before), k, "ArtifactFailed, and the history as before"))
	}},
	{"health that is waited for holds the suspend up, and fails without moving the revision", func(ctx context.Context, l Look) error {
		if err := l.Patch(ctx, "fact", `{"spec":{"wait":true,"timeout":"4s","retryInterval":"1h"}}`); err != nil {
			return err
		}
		before, p, err := l.atRestWith(ctx, NeverReady)
		if err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		if _, err := l.AwaitStart(ctx); err != nil {
			return err
		}
		k, err := l.Rest(ctx, "T2")
		if err != nil {
			return err
		}
		err = want(ready(k) == "False "+meta.HealthCheckFailedReason && newest(k) == meta.HealthCheckFailedReason &&
			k.Status.LastAppliedRevision == before.Status.LastAppliedRevision && k.Status.LastAttemptedRevision == p.Revision, k, "HealthCheckFailed on the new revision")
		return errors.Join(err, l.placed(ctx, p))
	}},
	{"a suspended source records the token, and keeps its artifact", func(ctx context.Context, l Look) error {
		g, err := l.Source(ctx)
		if err != nil {
			return err
		}
		before := g.Status.Artifact.Revision
		patch := fmt.Sprintf(`{"spec":{"suspend":true},"metadata":{"annotations":{%q:"F"}}}`, meta.ReconcileRequestAnnotation)
		if err := l.Client().Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("fact")); err != nil {
			return err
		}
		return l.Await(ctx, "the source handles the token", func(ctx context.Context) (bool, string, error) {
			g, err := l.Source(ctx)
			if err != nil {
				return false, "", err
			}
			return g.Status.LastHandledReconcileAt == "F" && g.Status.Artifact.Revision == before, g.Status.LastHandledReconcileAt, nil
		})
	}},
	{"a run that was cut off leaves Ready Unknown, and no suspended return heals that", func(ctx context.Context, l Look) error {
		if _, _, err := l.atRestWith(ctx, Slow); err != nil {
			return err
		}
		if err := l.Suspend(ctx, false, "T1"); err != nil {
			return err
		}
		if _, err := l.AwaitStart(ctx); err != nil {
			return err
		}
		if err := l.KillController(ctx); err != nil {
			return err
		}
		if err := l.Suspend(ctx, true, "T2"); err != nil {
			return err
		}
		if err := l.ReviveController(ctx); err != nil {
			return err
		}
		k, err := l.AwaitHandled(ctx, "T2")
		return errors.Join(err, want(ready(k) == "Unknown "+meta.ProgressingReason, k, "Ready Unknown"))
	}},
}

// historyOf is what a run moves in the newest entry of the history.
func historyOf(k *kustomizev1.Kustomization) string {
	if len(k.Status.History) == 0 {
		return ""
	}
	return fmt.Sprint(k.Status.History[0].Digest, k.Status.History[0].LastReconciledStatus, k.Status.History[0].TotalReconciliations)
}
