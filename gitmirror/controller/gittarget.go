package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
)

// Mirror is what the reconcilers need of the part that mirrors.
type Mirror interface {
	// Set makes a target be mirrored as given, or changes how.
	Set(t mirror.Target) error
	// Remove stops mirroring a target; what is decided for it is still pushed.
	Remove(name types.NamespacedName)
	// State returns how a target does; false when it is not mirrored.
	State(name types.NamespacedName) (mirror.State, bool)
}

// GitTargetReconciler turns GitTargets and their WatchRules into mirrored targets, and says how they do.
type GitTargetReconciler struct {
	client.Client
	Mapper meta.RESTMapper
	Mirror Mirror
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=holdfast.dev,resources=gittargets,verbs=get;list;watch
// +kubebuilder:rbac:groups=holdfast.dev,resources=gittargets/status,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile starts, changes or stops what is mirrored for one target, and writes its status.
func (r *GitTargetReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var t v1alpha1.GitTarget
	if err := r.Get(ctx, req.NamespacedName, &t); err != nil {
		if apierrors.IsNotFound(err) {
			r.Mirror.Remove(req.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, err
	}
	if !t.DeletionTimestamp.IsZero() {
		r.Mirror.Remove(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	seen, resources, err := r.observe(ctx, &t)
	if err != nil {
		return ctrl.Result{}, err
	}
	if fault := conditions.Validate(seen); fault.None() {
		if err := r.Mirror.Set(mirrored(seen, resources)); err != nil {
			return ctrl.Result{}, err
		}
	} else {
		r.Mirror.Remove(req.NamespacedName)
	}
	if state, ok := r.Mirror.State(req.NamespacedName); ok {
		seen.Streams, seen.Pending, seen.Pushed = state.Streams, state.Pending, state.Pushed
		seen.PushErr, seen.PathErr = state.PushErr, state.PathErr
	}
	if seen.Pushed == "" {
		seen.Pushed = t.Status.Commit
	}
	next := conditions.Target(seen)
	return again(writeStatus(ctx, r.Client, "GitTarget", &t, t.Status, next))
}

// observe reads what the target refers to, and the resources its rules name.
func (r *GitTargetReconciler) observe(ctx context.Context, t *v1alpha1.GitTarget) (conditions.TargetSeen, []mirror.Resource, error) {
	seen := conditions.TargetSeen{Now: r.Clock.Now().UTC(), Target: t}
	var err error
	if seen.Provider, err = get(ctx, r, t.Namespace, t.Spec.GitProviderRef.Name, &v1alpha1.GitProvider{}); err != nil {
		return seen, nil, err
	}
	if seen.KubeProvider, err = get(ctx, r, "", t.Spec.KubeProviderRef.Name, &v1alpha1.KubeProvider{}); err != nil {
		return seen, nil, err
	}
	namespace, err := get(ctx, r, "", t.Namespace, namespaceMetadata())
	if err != nil {
		return seen, nil, err
	}
	if namespace != nil {
		seen.Labels = namespace.Labels
	}
	if ref := t.Spec.ApplyTriggerRef; ref != nil {
		if seen.Trigger, err = get(ctx, r, t.Namespace, ref.Name, &v1alpha1.FluxTrigger{}); err != nil {
			return seen, nil, err
		}
	}
	var rules v1alpha1.WatchRuleList
	if err := r.List(ctx, &rules, client.InNamespace(t.Namespace)); err != nil {
		return seen, nil, fmt.Errorf("list WatchRules: %w", err)
	}
	var resources []mirror.Resource
	for i := range rules.Items {
		rule := &rules.Items[i]
		if rule.Spec.GitTargetRef.Name != t.Name || !rule.DeletionTimestamp.IsZero() {
			continue
		}
		named, fault := Resolve(r.Mapper, rule)
		if fault.Passing { // what is mirrored so far goes on
			return seen, nil, fmt.Errorf("resolve WatchRule %s: %s", rule.Name, fault.Message)
		}
		if !fault.None() {
			continue
		}
		seen.Rules++
		for _, res := range named {
			if !slices.Contains(resources, res) {
				resources = append(resources, res)
			}
		}
	}
	return seen, resources, nil
}

// namespaceMetadata is what is read and cached of a namespace: no more than its labels are needed.
func namespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// get reads one object, or returns nil when it does not exist.
func get[T client.Object](ctx context.Context, c client.Reader, namespace, name string, into T) (T, error) {
	var none T
	err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, into)
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %T %q: %w", into, name, err)
	}
	return into, nil
}

// mirrored is the target as the mirror takes it.
func mirrored(s conditions.TargetSeen, resources []mirror.Resource) mirror.Target {
	spec, committer := s.Target.Spec, s.Provider.Spec.Commit.Committer
	return mirror.Target{
		Name:      client.ObjectKeyFromObject(s.Target),
		Provider:  client.ObjectKeyFromObject(s.Provider),
		URL:       s.Provider.Spec.URL,
		Branch:    spec.Branch,
		Folder:    spec.Path,
		Committer: author.Author{Name: committer.Name, Email: committer.Email},
		Idle:      spec.Commit.IdleTimeout.Duration,
		Max:       spec.Commit.MaxDuration.Duration,
		Resources: resources,
		Triggered: spec.ApplyTriggerRef != nil,
	}
}

// SetupWithManager registers the reconciler; moved wakes a target whose streams or branch moved.
func (r *GitTargetReconciler) SetupWithManager(mgr ctrl.Manager, moved Wakes) error {
	c := mgr.GetClient()
	return ctrl.NewControllerManagedBy(mgr).Named("gittarget").
		For(&v1alpha1.GitTarget{}).
		Watches(&v1alpha1.GitProvider{}, mapTo(c, targetsWhere(func(t *v1alpha1.GitTarget, obj client.Object) bool {
			return t.Spec.GitProviderRef.Name == obj.GetName()
		}))).
		Watches(&v1alpha1.KubeProvider{}, mapTo(c, targetsWhere(func(t *v1alpha1.GitTarget, obj client.Object) bool {
			return t.Spec.KubeProviderRef.Name == obj.GetName()
		}))).
		WatchesMetadata(namespaceMetadata(), mapTo(c, listTargetsIn), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&v1alpha1.WatchRule{}, mapTo(c, targetsWhere(func(t *v1alpha1.GitTarget, obj client.Object) bool {
			rule, ok := obj.(*v1alpha1.WatchRule)
			return ok && rule.Spec.GitTargetRef.Name == t.Name
		}))).
		Watches(&v1alpha1.FluxTrigger{}, mapTo(c, targetsWhere(func(t *v1alpha1.GitTarget, obj client.Object) bool {
			return names(t, obj.GetName())
		}))).
		WatchesRawSource(source.Channel(moved, mapTo(c, targetsWhere(func(t *v1alpha1.GitTarget, obj client.Object) bool {
			return t.Name == obj.GetName()
		})))).
		Complete(r)
}

// names says whether the target names the trigger of that name.
func names(t *v1alpha1.GitTarget, trigger string) bool {
	return t.Spec.ApplyTriggerRef != nil && t.Spec.ApplyTriggerRef.Name == trigger
}
