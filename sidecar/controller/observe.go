package controller

import (
	"context"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// observe gathers what Decide may look at. The trigger and what it holds come from the API server where live, else from the
// cache; what only says whether it may hold comes from the cache. For a trigger nobody names, and which holds nothing, the
// API server is asked for nothing of Flux.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName, live bool) (hold.Seen, error) {
	read := client.Reader(r.Client)
	if live {
		read = r.Live
	}
	s := hold.Seen{Now: r.Now().UTC(), FreshToken: r.NewToken(), ClusterUID: r.ClusterUID}
	trigger, err := get(ctx, read, key, &v1alpha1.FluxTrigger{})
	if err != nil || trigger == nil {
		r.memory.waited(key, "", s.Now)
		return s, err
	}
	s.Trigger, s.Followed, s.Controller = trigger, r.memory.follows(trigger), r.controller(nil)
	candidates, err := r.candidates(ctx, trigger)
	if err != nil {
		return s, err
	}
	s.Binding = binding.Judge(trigger, nil, candidates)
	applier := types.NamespacedName(trigger.Spec.KustomizationRef)
	if s.Binding.Reason == v1alpha1.ReasonNotReferenced {
		cached := s
		if cached.Kustomization, err = get(ctx, r.Client, applier, &kustomizev1.Kustomization{}); err != nil || hold.HoldsNothing(cached) {
			return s, err
		}
	}
	if s.Kustomization, err = get(ctx, read, applier, &kustomizev1.Kustomization{}); err != nil {
		return s, err
	}
	// Who handled the suspend is known only from a Lease that is read after it was. While it cannot be read nobody is known to
	// lead, so that nothing ends; what was resumed is suspended all the same.
	known := true
	if op := trigger.Status.Operation; live && op != nil && !op.Phase.Final() && op.SuspendToken != "" {
		if err := r.Leader.Look(ctx, r.Live); err != nil {
			log.FromContext(ctx).Error(err, "who leads is not known")
			known = false
		}
	}
	s.Waited = r.memory.waited(key, hold.Unhandled(s.Kustomization), s.Now)
	s.Controller = r.controller(s.Kustomization)
	if !known {
		s.Controller.Leader, s.Controller.LedFor = "", 0
	}
	if k := s.Kustomization; k != nil && k.Spec.SourceRef.Kind == sourcev1.GitRepositoryKind {
		if s.GitRepository, err = get(ctx, read, hold.SourceOf(k), &sourcev1.GitRepository{}); err != nil {
			return s, err
		}
		if s.SourceBusy, err = r.inUse(ctx, hold.SourceOf(k).String(), trigger); err != nil {
			return s, err
		}
	}
	if op := trigger.Status.Operation; op != nil && op.FreezeToken != "" && !op.Phase.Final() {
		if s.Frozen, err = get(ctx, read, nameOf(op.SourceRef), &sourcev1.GitRepository{}); err != nil {
			return s, err
		}
	}
	if s, err = r.mayHold(ctx, s, candidates); err != nil {
		return s, err
	}
	s.Others, err = r.others(ctx, s)
	return s, err
}

// mayHold adds to s what says whether its trigger may hold.
func (r *Reconciler) mayHold(ctx context.Context, s hold.Seen, candidates []binding.Candidate) (hold.Seen, error) {
	provider := types.NamespacedName{Name: s.Trigger.Spec.KubeProviderRef.Name}
	if provider.Name == "" {
		provider.Name = v1alpha1.DefaultKubeProvider
	}
	var err error
	if s.KubeProvider, err = get(ctx, r.Client, provider, &v1alpha1.KubeProvider{}); err != nil {
		return s, err
	}
	if s.Admitted, err = r.admitted(ctx, s.KubeProvider, s.Trigger.Namespace); err != nil {
		return s, err
	}
	s.Binding = binding.Judge(s.Trigger, fetched(s.GitRepository), candidates)
	return s, nil
}

// admitted says that the KubeProvider admits the namespace, whose labels are read only where they count.
func (r *Reconciler) admitted(ctx context.Context, p *v1alpha1.KubeProvider, namespace string) (bool, error) {
	if p == nil || p.Spec.AccessFrom == nil {
		return binding.Admits(p, namespace, nil), nil
	}
	ns, err := get(ctx, r.Client, types.NamespacedName{Name: namespace}, namespaceMetadata())
	if err != nil || ns == nil {
		return false, err
	}
	return binding.Admits(p, namespace, ns.Labels), nil
}

// namespaceMetadata returns an empty Namespace of which only the metadata is read.
func namespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// controller returns what is known of the kustomize-controller of this pod; k is nil when there is none to look at.
func (r *Reconciler) controller(k *kustomizev1.Kustomization) hold.Controller {
	state := r.Leader.State()
	c := hold.Controller{
		Leads:               state.Leads,
		Elsewhere:           k != nil && (!r.Shard.Matches(labels.Set(k.Labels)) || r.Watched != "" && r.Watched != k.Namespace),
		Leader:              state.Controller,
		LedFor:              state.Since,
		Lease:               state.Lease,
		Namespace:           r.Namespace,
		CancelsHealthChecks: r.CancelsHealthChecks,
		Heartbeat:           r.Heartbeat,
	}
	if c.Leader == "" && c.Leads {
		c.Leader = r.Heartbeat // there is no election, so it is the controller of this pod
	}
	return c
}

// others returns the other triggers that name the same Kustomization, each with what says whether it may hold.
func (r *Reconciler) others(ctx context.Context, s hold.Seen) ([]hold.Seen, error) {
	var triggers v1alpha1.FluxTriggerList
	applier := types.NamespacedName(s.Trigger.Spec.KustomizationRef).String()
	if err := r.Client.List(ctx, &triggers, client.MatchingFields{triggersByApplier: applier}); err != nil {
		return nil, fmt.Errorf("list FluxTriggers of Kustomization %s: %w", applier, err)
	}
	var all []hold.Seen
	for i := range triggers.Items {
		t := &triggers.Items[i]
		if t.UID == s.Trigger.UID {
			continue
		}
		candidates, err := r.candidates(ctx, t)
		if err != nil {
			return nil, err
		}
		o := s
		o.Trigger, o.Others = t, nil
		if o, err = r.mayHold(ctx, o, candidates); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
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

// nameOf returns what a reference of the form namespace/name means.
func nameOf(ref string) types.NamespacedName {
	namespace, name, _ := strings.Cut(ref, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// get reads one object into into; nil without an error means that there is none. By a name that no object can have none is
// asked for: the answer would be an error, and what spec.sourceRef says is anybody's text. An error would keep what somebody
// resumed from being suspended, and a trigger that leaves from leaving.
func get[T client.Object](ctx context.Context, read client.Reader, key types.NamespacedName, into T) (T, error) {
	var none T
	if len(validation.IsDNS1123Subdomain(key.Name)) > 0 || key.Namespace != "" && len(validation.IsDNS1123Label(key.Namespace)) > 0 {
		return none, nil
	}
	switch err := read.Get(ctx, key, into); {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return into, nil
}
