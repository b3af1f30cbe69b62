package controller

import (
	"context"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// observe gathers what Decide may look at. The trigger and what it holds come from read; what only says whether it may
// hold comes from the cache. A trigger nobody names, and which adopted nothing, makes it read nothing of Flux.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName, read client.Reader) (hold.Seen, error) {
	s := hold.Seen{Now: r.Now().UTC(), FreshToken: r.NewToken(), ClusterUID: r.ClusterUID}
	trigger, err := get(ctx, read, key, &v1alpha1.FluxTrigger{})
	if err != nil || trigger == nil {
		return s, err
	}
	s.Trigger = trigger
	candidates, err := r.candidates(ctx, trigger)
	if err != nil {
		return s, err
	}
	s.Binding = binding.Judge(trigger, nil, candidates)
	if s.Binding.Reason == v1alpha1.ReasonNotReferenced && hold.HoldsNothing(trigger) {
		return s, nil
	}
	ref := trigger.Spec.KustomizationRef
	s.Kustomization, err = get(ctx, read, types.NamespacedName(ref), &kustomizev1.Kustomization{})
	if err != nil {
		return s, err
	}
	if k := s.Kustomization; k != nil && k.Spec.SourceRef.Kind == sourcev1.GitRepositoryKind {
		if s.GitRepository, err = get(ctx, read, hold.SourceOf(k), &sourcev1.GitRepository{}); err != nil {
			return s, err
		}
	}
	provider := types.NamespacedName{Name: trigger.Spec.KubeProviderRef.Name}
	if provider.Name == "" {
		provider.Name = v1alpha1.DefaultKubeProvider
	}
	if s.KubeProvider, err = get(ctx, r.Client, provider, &v1alpha1.KubeProvider{}); err != nil {
		return s, err
	}
	s.Binding = binding.Judge(trigger, fetched(s.GitRepository), candidates)
	s.OtherLives, err = r.otherLives(ctx, s)
	return s, err
}

// candidates returns the GitTargets that name trigger, each with its GitProvider.
func (r *Reconciler) candidates(ctx context.Context, trigger *v1alpha1.FluxTrigger) ([]binding.Candidate, error) {
	var targets v1alpha1.GitTargetList
	err := r.Client.List(ctx, &targets, client.InNamespace(trigger.Namespace), client.MatchingFields{targetsByTrigger: trigger.Name})
	if err != nil {
		return nil, fmt.Errorf("list GitTargets of FluxTrigger %s/%s: %w", trigger.Namespace, trigger.Name, err)
	}
	candidates := make([]binding.Candidate, 0, len(targets.Items))
	for _, t := range targets.Items {
		c := binding.Candidate{Target: t}
		key := types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.GitProviderRef.Name}
		if c.Provider, err = get(ctx, r.Client, key, &v1alpha1.GitProvider{}); err != nil {
			return nil, err
		}
		candidates = append(candidates, c)
	}
	return candidates, nil
}

// otherLives says that held-by names another trigger that is there, or one of another cluster, which cannot be asked after.
func (r *Reconciler) otherLives(ctx context.Context, s hold.Seen) (bool, error) {
	if s.Kustomization == nil {
		return false, nil
	}
	by := hold.HolderOf(s.Kustomization)
	if by == "" || by == s.HeldBy() {
		return false, nil
	}
	uid, here := strings.CutPrefix(by, r.ClusterUID+"/")
	if !here {
		return true, nil
	}
	var triggers v1alpha1.FluxTriggerList
	err := r.Client.List(ctx, &triggers, client.MatchingFields{triggersByApplier: types.NamespacedName(s.Trigger.Spec.KustomizationRef).String()})
	if err != nil {
		return false, fmt.Errorf("list FluxTriggers of Kustomization %s: %w", s.Trigger.Spec.KustomizationRef.Name, err)
	}
	for _, t := range triggers.Items {
		if string(t.UID) == uid {
			return true, nil
		}
	}
	return false, nil
}

// fetched returns what the GitRepository fetches, or nil when it is not there or follows no branch.
func fetched(g *sourcev1.GitRepository) *binding.Source {
	if g == nil {
		return nil
	}
	branch, ok := hold.BranchOf(g)
	if !ok {
		return nil
	}
	return &binding.Source{URL: g.Spec.URL, Branch: branch}
}

// get reads one object into into; nil without an error means that there is none.
func get[T client.Object](ctx context.Context, read client.Reader, key types.NamespacedName, into T) (T, error) {
	var none T
	switch err := read.Get(ctx, key, into); {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}
