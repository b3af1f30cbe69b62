package flux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
	"github.com/holdfast-gitops/holdfast/test/sim/turn"
)

// dependencyRequeue is kustomize-controller's --requeue-dependency.
const dependencyRequeue = 30 * time.Second

// objects is how many objects each commit has.
const objects = 2

// run is one call of Reconcile.
type run struct {
	*Kustomize
	key   types.NamespacedName
	pause turn.Pause
	obj   *kustomizev1.Kustomization
	patch *patcher
	truth *Run
}

// result is what a call of Reconcile asks of the queue.
type result struct {
	after   time.Duration // 0: only an event starts the next
	limited bool          // Requeue: true, which the rate limiter delays
	err     error
}

// errCanceled is a health check that a newer event ended.
var errCanceled = errors.New("health check canceled")

// work is what controller-runtime does around one call (internal/controller/controller.go).
func (r *run) work(pause turn.Pause) {
	r.pause = pause
	res := r.reconcile()
	now := r.Now()
	switch {
	case res.err != nil, res.limited:
		r.queue.add(r.key, now.Add(r.queue.backoff(r.key)))
	case res.after > 0:
		r.queue.forget(r.key)
		r.queue.add(r.key, now.Add(res.after))
	default:
		r.queue.forget(r.key)
	}
}

// reconcile is KustomizationReconciler.Reconcile.
func (r *run) reconcile() result {
	r.obj = &kustomizev1.Kustomization{}
	if err := r.Client.Get(context.Background(), r.key, r.obj); err != nil {
		return result{}
	}
	r.patch = &patcher{run: r, before: r.obj.DeepCopy()}
	res := r.body()
	if err := r.finalizeStatus(); err != nil {
		res.err = errors.Join(res.err, err)
	}
	if r.truth != nil {
		r.truth.Ended = true
	}
	return res
}

func (r *run) body() result {
	obj := r.obj
	switch {
	case !obj.DeletionTimestamp.IsZero():
		return r.finalize()
	case !slices.Contains(obj.Finalizers, kustomizev1.KustomizationFinalizer):
		obj.Finalizers = append(obj.Finalizers, kustomizev1.KustomizationFinalizer)
		return result{limited: true}
	case obj.Spec.Suspend:
		return result{}
	}
	r.pause("reads the source", turn.When{})
	source := &sourcev1.GitRepository{}
	switch err := r.Client.Get(context.Background(), sourceOf(obj), source); {
	case apierrors.IsNotFound(err):
		r.ready(metav1.ConditionFalse, meta.ArtifactFailedReason, err.Error())
		return result{after: retryInterval(obj)}
	case err != nil:
		return result{err: err}
	case source.Status.Artifact == nil:
		r.ready(metav1.ConditionFalse, meta.ArtifactFailedReason, "Source artifact not found, retrying in 30s")
		return result{after: dependencyRequeue}
	}
	err := r.apply(source.Status.Artifact.Revision)
	switch {
	case errors.Is(err, errCanceled):
		r.ready(metav1.ConditionFalse, meta.HealthCheckCanceledReason, "New reconciliation triggered")
		return result{limited: true}
	case err != nil:
		return result{after: retryInterval(obj)}
	}
	return result{after: obj.Spec.Interval.Duration}
}

// apply is KustomizationReconciler.reconcile.
func (r *run) apply(revision string) error {
	obj, commit := r.obj, r.Repo.at(revision)
	r.ready(metav1.ConditionUnknown, meta.ProgressingReason, "Reconciliation in progress")
	r.progress("Fetching manifests for revision " + revision)
	if err := r.patch.all("at the start"); err != nil {
		return fmt.Errorf("failed to update status: %w", err)
	}
	r.pause("fetches and builds "+revision, turn.When{})
	obj.Status.LastAttemptedRevision = revision
	r.progress("Building manifests for revision " + revision)
	if err := r.patch.all("after the fetch"); err != nil {
		return fmt.Errorf("failed to update status: %w", err)
	}
	record := func(reason string) {
		obj.Status.History.Upsert("sha256:"+commit.Content+"/"+obj.Spec.Path, r.Now().UTC(), time.Second, reason, map[string]string{"revision": revision})
	}
	if err := r.place(revision, commit); err != nil {
		record(meta.ReconciliationFailedReason)
		r.ready(metav1.ConditionFalse, meta.ReconciliationFailedReason, err.Error())
		return err
	}
	obj.Status.Inventory = &kustomizev1.ResourceInventory{}
	for i := range objects {
		obj.Status.Inventory.Entries = append(obj.Status.Inventory.Entries, kustomizev1.ResourceRef{ID: objectName(i), Version: "v1"})
	}
	if err := r.health(); err != nil {
		if errors.Is(err, errCanceled) {
			return err
		}
		record(meta.HealthCheckFailedReason)
		r.ready(metav1.ConditionFalse, meta.HealthCheckFailedReason, err.Error())
		return err
	}
	obj.Status.LastAppliedRevision = revision
	r.ready(metav1.ConditionTrue, meta.ReconciliationSucceededReason, "Applied revision: "+revision)
	record(meta.ReconciliationSucceededReason)
	return nil
}

// place writes the objects of the commit, one after the other.
func (r *run) place(revision string, commit Commit) error {
	obj := r.obj
	r.truth = &Run{
		Key: r.key, UID: obj.UID, Revision: revision, Path: obj.Spec.Path, By: r.Name, Began: r.Now(),
		SeenRV: apiserver.RV(&apiserver.Object{Object: map[string]any{"metadata": map[string]any{"resourceVersion": obj.ResourceVersion}}}),
		Token:  obj.Annotations[meta.ReconcileRequestAnnotation],
	}
	for i := range objects {
		r.pause(fmt.Sprintf("applies object %d of %s", i+1, revision), turn.When{})
		if r.truth.Number == 0 {
			r.Truth.begin(r.truth)
		}
		if commit.Broken && i > 0 {
			return fmt.Errorf("%s is invalid", objectName(i))
		}
		r.Truth.place(r.truth, objectName(i))
	}
	r.truth.Full = true
	return nil
}

// health is checkHealth: with spec.wait it ends when everything is ready, in time or not, or when it is canceled.
func (r *run) health() error {
	if !r.obj.Spec.Wait || r.Healthy == nil {
		return nil
	}
	r.progress("Running health checks")
	if err := r.patch.all("before the health checks"); err != nil {
		return fmt.Errorf("unable to update the healthy status to progressing: %w", err)
	}
	deadline := r.Now().Add(r.obj.GetTimeout())
	r.pause("waits for health", turn.When{Until: deadline, Or: func() bool { return r.Healthy() || r.canceled[r.key] }})
	switch {
	case r.canceled[r.key]:
		return errCanceled
	case !r.Healthy():
		return errors.New("health check failed after the timeout")
	}
	return nil
}

// finalize is KustomizationReconciler.finalize.
func (r *run) finalize() result {
	obj := r.obj
	if !obj.Spec.Suspend && obj.Status.Inventory != nil && len(obj.Status.Inventory.Entries) > 0 && prunes(obj) {
		r.pause("prunes what it applied", turn.When{})
		r.Truth.prune(obj.UID)
	}
	obj.Finalizers = slices.DeleteFunc(obj.Finalizers, func(f string) bool { return f == kustomizev1.KustomizationFinalizer })
	return result{}
}

func prunes(obj *kustomizev1.Kustomization) bool {
	switch obj.GetDeletionPolicy() {
	case kustomizev1.DeletionPolicyMirrorPrune:
		return obj.Spec.Prune
	case kustomizev1.DeletionPolicyDelete, kustomizev1.DeletionPolicyWaitForTermination:
		return true
	}
	return false
}

// finalizeStatus is what every return goes through: the token as it was read at the start, and the last writes.
func (r *run) finalizeStatus() error {
	obj := r.obj
	if token, ok := meta.ReconcileAnnotationValue(obj.GetAnnotations()); ok {
		obj.Status.LastHandledReconcileAt = token
	}
	switch c := find(obj, meta.ReadyCondition); {
	case c == nil:
	case c.Status == metav1.ConditionTrue:
		drop(obj, meta.ReconcilingCondition)
		obj.Status.ObservedGeneration = obj.Generation
	case c.Status == metav1.ConditionFalse:
		if p := find(obj, meta.ReconcilingCondition); p != nil {
			retry := *p
			retry.Reason = meta.ProgressingWithRetryReason
			set(obj, retry, r.Now())
		}
	}
	return r.patch.all("at the end")
}

func (r *run) ready(s metav1.ConditionStatus, reason, message string) {
	set(r.obj, metav1.Condition{Type: meta.ReadyCondition, Status: s, Reason: reason, Message: message}, r.Now())
}

func (r *run) progress(message string) {
	set(r.obj, metav1.Condition{Type: meta.ReconcilingCondition, Status: metav1.ConditionTrue, Reason: meta.ProgressingReason, Message: message}, r.Now())
}

func retryInterval(obj *kustomizev1.Kustomization) time.Duration { return obj.GetRetryInterval() }

// LastObject is the one of a commit's objects that is written last.
var LastObject = objectName(objects - 1)

func objectName(i int) string { return fmt.Sprintf("team_cm-%d__ConfigMap", i) }
