package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
)

// WatchRuleReconciler says on each WatchRule whether its resources can be mirrored.
type WatchRuleReconciler struct {
	client.Client
	Mapper meta.RESTMapper
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=holdfast.dev,resources=watchrules,verbs=get;list;watch
// +kubebuilder:rbac:groups=holdfast.dev,resources=watchrules/status,verbs=get;patch

// Reconcile writes the rule's status.
func (r *WatchRuleReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var rule v1alpha1.WatchRule
	if err := r.Get(ctx, req.NamespacedName, &rule); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	found, err := r.ask(ctx, &rule)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := conditions.Rule(&rule, found, r.Clock.Now().UTC())
	res, err := again(writeStatus(ctx, r.Client, "WatchRule", &rule, rule.Status, next))
	if err == nil && res.IsZero() && !found.None() {
		res.RequeueAfter = recheck
	}
	return res, err
}

func (r *WatchRuleReconciler) ask(ctx context.Context, rule *v1alpha1.WatchRule) (conditions.Fault, error) {
	_, found := Resolve(r.Mapper, rule)
	if !found.None() {
		return found, nil
	}
	var t v1alpha1.GitTarget
	err := r.Get(ctx, types.NamespacedName{Namespace: rule.Namespace, Name: rule.Spec.GitTargetRef.Name}, &t)
	if client.IgnoreNotFound(err) != nil {
		return conditions.Fault{}, fmt.Errorf("read GitTarget %q: %w", rule.Spec.GitTargetRef.Name, err)
	}
	if err != nil {
		return conditions.Fault{Reason: v1alpha1.ReasonGitTargetNotFound, Message: fmt.Sprintf(
			"spec.gitTargetRef names GitTarget %q, which does not exist in this namespace; create it or name another", rule.Spec.GitTargetRef.Name)}, nil
	}
	return conditions.Fault{}, nil
}

// Resolve returns the resources a rule names, in the version the API server prefers, each once. A rule of which one
// resource cannot be mirrored is refused whole, so that a person notices.
func Resolve(mapper meta.RESTMapper, rule *v1alpha1.WatchRule) ([]mirror.Resource, conditions.Fault) {
	var all []mirror.Resource
	for i, rr := range rule.Spec.Rules {
		for _, group := range rr.APIGroups {
			for _, resource := range rr.Resources {
				res, fault := resolve(mapper, schema.GroupResource{Group: group, Resource: resource}, fmt.Sprintf("spec.rules[%d]", i))
				if !fault.None() {
					return nil, fault
				}
				if !slices.Contains(all, res) {
					all = append(all, res)
				}
			}
		}
	}
	return all, conditions.Fault{}
}

func resolve(mapper meta.RESTMapper, gr schema.GroupResource, field string) (mirror.Resource, conditions.Fault) {
	mapping, err := mappingOf(mapper, gr)
	var none *meta.NoResourceMatchError
	switch {
	case errors.As(err, &none):
		return mirror.Resource{}, conditions.Fault{Reason: v1alpha1.ReasonResourceNotFound, Message: fmt.Sprintf(
			"%s: the cluster serves no resource %q; see kubectl api-resources for the plural name and its group, or install its CRD", field, gr)}
	case err != nil:
		return mirror.Resource{}, conditions.Fault{Reason: v1alpha1.ReasonProgressing, Passing: true, Message: fmt.Sprintf("%s: look up %q: %v", field, gr, err)}
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
		return mirror.Resource{}, conditions.Fault{Reason: v1alpha1.ReasonResourceNotWatchable, Message: fmt.Sprintf(
			"%s: %q is cluster-scoped, and a WatchRule mirrors objects of its own namespace only; take it out", field, gr)}
	}
	return mirror.Resource{GroupVersionResource: mapping.Resource, Kind: mapping.GroupVersionKind.Kind}, conditions.Fault{}
}

// mappingOf returns the mapping of exactly that resource, in the version the API server prefers. A mapper is generous: to it
// the core group's empty name means any group, and the beginning of a group's name that group.
func mappingOf(mapper meta.RESTMapper, gr schema.GroupResource) (*meta.RESTMapping, error) {
	none := &meta.NoResourceMatchError{PartialResource: gr.WithVersion("")}
	if gr.Group == "" {
		// One that learns groups as they are asked for must know the core group, or it is content with another one.
		if _, err := mapper.RESTMapping(schema.GroupKind{Kind: "Namespace"}); err != nil {
			return nil, err
		}
	}
	found, err := mapper.ResourcesFor(gr.WithVersion(""))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(gvr schema.GroupVersionResource) bool { return gvr.GroupResource() == gr })
	if i < 0 {
		return nil, none
	}
	kinds, err := mapper.KindsFor(found[i])
	if err != nil {
		return nil, err
	}
	for _, gvk := range kinds {
		if gvk.Group != gr.Group {
			continue
		}
		if mapping, err := mapper.RESTMapping(gvk.GroupKind()); err != nil || mapping.Resource.GroupResource() == gr {
			return mapping, err
		}
	}
	return nil, none
}

// SetupWithManager registers the reconciler; a GitTarget that comes or goes wakes the rules that name it.
func (r *WatchRuleReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("watchrule").
		For(&v1alpha1.WatchRule{}).
		Watches(&v1alpha1.GitTarget{}, mapTo(mgr.GetClient(), func(ctx context.Context, c client.Client, obj client.Object) []types.NamespacedName {
			var all v1alpha1.WatchRuleList
			if err := c.List(ctx, &all, client.InNamespace(obj.GetNamespace())); err != nil {
				return nil // the cache is stopping
			}
			return namesOf(all.Items, func(w *v1alpha1.WatchRule) bool { return w.Spec.GitTargetRef.Name == obj.GetName() })
		})).
		Complete(r)
}
