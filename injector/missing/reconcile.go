package missing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// Reconciler looks at one labelled namespace at a time.
type Reconciler struct {
	Client  client.Client                 // its cache has the labelled namespaces, and is asked for nothing else
	Live    client.Reader                 // reads past the cache
	Policy  func() (inject.Policy, error) // an error: nothing is known of what should be, so nothing is said
	Room    func(ctx context.Context, namespace string) (inject.Room, error)
	Ready   func() error                  // whether the webhook would answer; nil error: it would
	Consent bool                          // restart what has no holder
	Own     string                        // namespace of the injector, where restarts are written down
	Owner   func() *metav1.OwnerReference // what the record of restarts goes with; nil: none, and then nothing is restarted
	Pod     string                        // name of this pod, for Events
	Now     func() time.Time
	Metrics *Metrics

	pods     func(ctx context.Context, namespace string) ([]corev1.Pod, error)
	end      func(namespace string)
	told     map[string]map[telling]bool // by namespace
	restarts *restarts
}

// telling is what was told of which pod.
type telling struct {
	pod    types.UID
	reason Reason
}

// Reconcile is one pass over a namespace: observe, decide, perform.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var namespace corev1.Namespace
	err := r.Client.Get(ctx, req.NamespacedName, &namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("read the namespace: %w", err)
	}
	if err != nil || namespace.DeletionTimestamp != nil || namespace.Labels[v1alpha1.InjectLabel] != v1alpha1.InjectEnabled {
		r.end(req.Name)
		r.Metrics.missing(req.Name, nil)
		delete(r.told, req.Name)
		return ctrl.Result{}, nil
	}
	policy, err := r.Policy()
	if err != nil {
		return ctrl.Result{RequeueAfter: lookEvery}, nil // readiness and the log say so
	}
	pods, err := r.pods(ctx, req.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen := Seen{Now: r.Now().UTC(), Pods: r.look(ctx, req.Name, pods, policy), Consent: r.Consent, Able: r.Ready() == nil}
	if r.Consent {
		if seen.Restarts, err = r.restarts.of(ctx, req.Name); err != nil {
			return ctrl.Result{}, err
		}
	}
	plan := Decide(seen)
	r.Metrics.missing(req.Name, plan.Missing)
	return ctrl.Result{RequeueAfter: plan.Recheck}, errors.Join(r.tell(ctx, req.Name, seen, plan), r.restart(ctx, req.Name, plan, seen.Now))
}

// look says of a namespace's pods what Decide needs to know. What the namespace allows is asked only where a pod would get a
// holder if it were made anew; where that cannot be read, it is taken to allow it, as the webhook does.
func (r *Reconciler) look(ctx context.Context, namespace string, pods []corev1.Pod, policy inject.Policy) []Pod {
	all := look(pods, policy, inject.Room{})
	if !slices.ContainsFunc(all, func(p Pod) bool { return p.Missing && p.Curable }) {
		return all
	}
	room, err := r.Room(ctx, namespace)
	if err != nil {
		log.FromContext(ctx).Error(err, "pods without a holder are looked at as in a namespace without limits")
		return all
	}
	return look(pods, policy, room)
}

// tell writes the Events that were not written before.
func (r *Reconciler) tell(ctx context.Context, namespace string, s Seen, p Plan) error {
	var errs []error
	before, now := r.told[namespace], map[telling]bool{}
	r.told[namespace] = now // pods that are gone are forgotten
	for _, t := range p.Tell {
		key := telling{t.Pod.UID, t.Reason}
		if before[key] {
			now[key] = true
			continue
		}
		err := r.Client.Create(ctx, r.event(namespace, t, s.Now))
		switch {
		case apierrors.IsAlreadyExists(err): // a leader before this one told it
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
			continue
		case err != nil:
			errs = append(errs, fmt.Errorf("tell of pod %s/%s: %w", namespace, t.Pod.Name, err))
			continue
		default:
			log.FromContext(ctx).Info("a pod has no holder", "reason", t.Reason, "pod", t.Pod.Name, "flavour", t.Pod.Flavour, "note", t.Note)
		}
		now[key] = true
	}
	return errors.Join(errs...)
}

// restart writes down what is to be evicted and then evicts it. What a budget keeps is tried again at the next pass.
func (r *Reconciler) restart(ctx context.Context, namespace string, p Plan, now time.Time) error {
	if len(p.Evict) == 0 && len(p.Forget) == 0 {
		return nil
	}
	if err := r.restarts.write(ctx, namespace, p, now); err != nil {
		return err
	}
	var errs []error
	for _, pod := range p.Evict {
		eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}}
		object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod.Name}}
		err := r.Client.SubResource("eviction").Create(ctx, object, eviction)
		l := log.FromContext(ctx).WithValues("pod", pod.Name, "workload", pod.Workload.Name)
		switch {
		case err == nil:
			r.Metrics.restarted(outcomeEvicted)
			l.Info("a pod without a holder was evicted")
		case apierrors.IsTooManyRequests(err):
			r.Metrics.restarted(outcomeBudget)
			l.V(1).Info("a budget keeps a pod without a holder; it is tried again")
		case apierrors.IsNotFound(err), apierrors.IsConflict(err): // it is gone already
		default:
			r.Metrics.restarted(outcomeFailed)
			errs = append(errs, fmt.Errorf("evict pod %s/%s: %w", namespace, pod.Name, err))
		}
	}
	return errors.Join(errs...)
}
