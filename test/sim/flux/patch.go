package flux

import (
	"context"
	"errors"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/sim/turn"
)

// manager is kustomize-controller's field manager for its own object.
const manager = client.FieldOwner("gotk-kustomize-controller")

// conflicts is how often the conditions are tried again (fluxcd/pkg/runtime/patch/patch.go).
const conflicts = 5

// owned are the conditions kustomize-controller overwrites, whatever they say.
var owned = []string{meta.HealthyCondition, meta.ReadyCondition, meta.ReconcilingCondition, meta.StalledCondition}

// patcher is fluxcd/pkg/runtime/patch.SerialPatcher: what changed since before goes out in up to three writes, all of which
// are tried even when one fails.
type patcher struct {
	run    *run
	before *kustomizev1.Kustomization
}

// all writes what changed in the run's object: conditions first, then metadata, then the rest of the status.
func (p *patcher) all(when string) error {
	err := errors.Join(p.conditions(when), p.metadata(), p.status(when))
	if err == nil {
		p.before = p.run.obj.DeepCopy()
	}
	return err
}

// conditions is patchStatusConditions: guarded by the resourceVersion of what the cache has.
func (p *patcher) conditions(when string) error {
	after := p.run.obj
	if apiequality.Semantic.DeepEqual(p.before.Status.Conditions, after.Status.Conditions) {
		return nil
	}
	var err error
	wait := 100 * time.Millisecond
	for try := range conflicts {
		if try > 0 {
			p.run.pause("tries its conditions again", turn.At(p.run.Now().Add(wait)))
			wait += 50 * time.Millisecond
		} else {
			p.run.pause("writes conditions "+when, turn.When{})
		}
		latest := &kustomizev1.Kustomization{}
		if err = p.run.Client.Get(context.Background(), p.run.key, latest); err != nil {
			return p.gone(err)
		}
		locked := client.MergeFromWithOptions(latest.DeepCopy(), client.MergeFromWithOptimisticLock{})
		for _, t := range owned {
			was, is := apimeta.FindStatusCondition(p.before.Status.Conditions, t), find(after, t)
			switch {
			case is != nil && !apiequality.Semantic.DeepEqual(was, is):
				set(latest, *is, p.run.Now())
			case is == nil && was != nil:
				drop(latest, t)
			}
		}
		err = p.run.Client.Status().Patch(context.Background(), latest, locked, manager)
		if !apierrors.IsConflict(err) {
			return p.gone(err)
		}
	}
	return err
}

// metadata writes the finalizers as a whole when the run changed them: an unguarded merge patch from what the run read.
func (p *patcher) metadata() error {
	if slices.Equal(p.before.Finalizers, p.run.obj.Finalizers) {
		return nil
	}
	p.run.pause("writes finalizers", turn.When{})
	after := p.before.DeepCopy()
	after.Finalizers = slices.Clone(p.run.obj.Finalizers)
	return p.gone(p.run.Client.Patch(context.Background(), after, client.MergeFrom(p.before), manager))
}

// status writes the rest of the status, unguarded.
func (p *patcher) status(when string) error {
	after := p.before.DeepCopy()
	p.run.obj.Status.DeepCopyInto(&after.Status)
	after.Status.Conditions = p.before.Status.Conditions
	if apiequality.Semantic.DeepEqual(p.before.Status, after.Status) {
		return nil
	}
	p.run.pause("writes the rest of the status "+when, turn.When{})
	return p.gone(p.run.Client.Status().Patch(context.Background(), after, client.MergeFrom(p.before), manager))
}

// gone forgives that an object that is being deleted is not there any more.
func (p *patcher) gone(err error) error {
	if !p.run.obj.DeletionTimestamp.IsZero() && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// set is conditions.Set: the transition time moves when status, reason or message do, and counts whole seconds.
func set(k *kustomizev1.Kustomization, c metav1.Condition, now time.Time) {
	c.ObservedGeneration = k.Generation
	c.LastTransitionTime = metav1.NewTime(now.UTC().Truncate(time.Second))
	i := slices.IndexFunc(k.Status.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		k.Status.Conditions = append(k.Status.Conditions, c)
		return
	}
	if o := k.Status.Conditions[i]; o.Status == c.Status && o.Reason == c.Reason && o.Message == c.Message {
		c.LastTransitionTime = o.LastTransitionTime
	}
	k.Status.Conditions[i] = c
}

func find(k *kustomizev1.Kustomization, t string) *metav1.Condition {
	return apimeta.FindStatusCondition(k.Status.Conditions, t)
}

func drop(k *kustomizev1.Kustomization, t string) {
	apimeta.RemoveStatusCondition(&k.Status.Conditions, t)
}
