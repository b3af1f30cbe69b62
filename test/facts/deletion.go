package facts

import (
	"context"
	"errors"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	keeps  = `{"metadata":{"finalizers":["holdfast.dev/fact"]},"spec":{"suspend":true}}`
	resume = `{"metadata":{"finalizers":["holdfast.dev/fact"]},"spec":{"suspend":false}}`
)

// awaitGone waits until the Kustomization is not there any more.
func (l Look) awaitGone(ctx context.Context) error {
	return l.Await(ctx, "the Kustomization is gone", func(ctx context.Context) (bool, string, error) {
		k, err := l.Kustomization(ctx)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, say(k), err
	})
}

// delete deletes the Kustomization and waits until Flux's finalizer is off it.
func (l Look) delete(ctx context.Context) (*kustomizev1.Kustomization, error) {
	k, err := l.Kustomization(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.Client().Delete(ctx, k); err != nil {
		return nil, err
	}
	return l.AwaitKustomization(ctx, "Flux lets the Kustomization go", func(k *kustomizev1.Kustomization) bool {
		return !k.DeletionTimestamp.IsZero() && !slices.Contains(k.Finalizers, kustomizev1.KustomizationFinalizer)
	})
}

var ofDeletion = []Fact{
	{"a Kustomization that is deleted while suspended leaves what it applied", func(ctx context.Context, l Look) error {
		k, err := l.Rest(ctx, "rest")
		if err != nil {
			return err
		}
		before, err := l.Placed(ctx)
		if err != nil {
			return err
		}
		if err := l.Client().Delete(ctx, k); err != nil {
			return err
		}
		if err := l.awaitGone(ctx); err != nil {
			return err
		}
		return l.placed(ctx, Pushed{Marker: before})
	}},
	{"deletion moves the generation", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		before, err := l.Rest(ctx, "rest")
		if err != nil {
			return err
		}
		k, err := l.delete(ctx)
		if err != nil {
			return err
		}
		return errors.Join(want(k.Generation == before.Generation+1, k, "the next generation"), l.Apply(ctx, "holder", `{}`))
	}},
	{"a Kustomization being deleted that is resumed is pruned, although Flux has let it go while it was suspended", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "rest"); err != nil {
			return err
		}
		if _, err := l.delete(ctx); err != nil {
			return err
		}
		if m, err := l.Placed(ctx); err != nil || m == "" {
			return errors.Join(errors.New("something was pruned while it was suspended"), err)
		}
		if err := l.Apply(ctx, "holder", resume); err != nil {
			return err
		}
		err := l.Await(ctx, "what was applied is pruned", func(ctx context.Context) (bool, string, error) {
			m, err := l.Placed(ctx)
			return m == "", m, err
		})
		return errors.Join(err, l.Apply(ctx, "holder", `{}`), l.awaitGone(ctx))
	}},
	{"a token is recorded while a Kustomization is being deleted", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "rest"); err != nil {
			return err
		}
		if _, err := l.delete(ctx); err != nil {
			return err
		}
		if err := l.Stamp(ctx, "late"); err != nil {
			return err
		}
		_, err := l.AwaitHandled(ctx, "late")
		return errors.Join(err, l.Apply(ctx, "holder", `{}`), l.awaitGone(ctx))
	}},
	{"a finalizer cannot be put on what is being deleted", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "rest"); err != nil {
			return err
		}
		if _, err := l.delete(ctx); err != nil {
			return err
		}
		err := l.Apply(ctx, "another", `{"metadata":{"finalizers":["holdfast.dev/late"]}}`)
		return errors.Join(refused(err, apierrors.IsInvalid, "Invalid"), l.Apply(ctx, "holder", `{}`), l.awaitGone(ctx))
	}},
	{"an apply that takes the last finalizer off ends the deletion", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "rest"); err != nil {
			return err
		}
		if _, err := l.delete(ctx); err != nil {
			return err
		}
		return errors.Join(l.Apply(ctx, "holder", `{}`), l.awaitGone(ctx))
	}},
	{"a finalizer that Flux has seen survives when Flux puts its own back", func(ctx context.Context, l Look) error {
		if err := l.Apply(ctx, "holder", keeps); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "rest"); err != nil {
			return err
		}
		if err := l.Patch(ctx, "fact", `{"metadata":{"finalizers":["holdfast.dev/fact"]}}`); err != nil {
			return err
		}
		if _, err := l.Rest(ctx, "again"); err != nil {
			return err
		}
		_, err := l.AwaitKustomization(ctx, "both finalizers are there", func(k *kustomizev1.Kustomization) bool { return len(k.Finalizers) == 2 })
		return errors.Join(err, l.Apply(ctx, "holder", `{}`))
	}},
}
