package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/cli/release"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

// Resources, as permissions name them.
const (
	triggers       = "fluxtriggers.holdfast.dev"
	kustomizations = "kustomizations.kustomize.toolkit.fluxcd.io"
	sources        = "gitrepositories.source.toolkit.fluxcd.io"
)

// held is one thing to hand back: a trigger with its Kustomization, or a Kustomization or a frozen GitRepository whose
// trigger is gone.
type held struct {
	trigger       types.NamespacedName // empty: it is gone
	triggerUID    types.UID
	orphan        bool                 // spec.onDelete: Orphan
	kustomization types.NamespacedName // empty: there is only a source
	source        types.NamespacedName // the GitRepository that may be frozen; empty: none
	appliedBy     string               // who applies the trigger, and will make it anew; empty: nobody is known to
	err           error                // why it cannot be handed back
}

// String names it for a person, as the line about it begins.
func (h held) String() string {
	switch {
	case h.trigger.Name != "":
		return "FluxTrigger " + h.trigger.String()
	case h.kustomization.Name != "":
		return "Kustomization " + h.kustomization.String()
	}
	return "GitRepository " + h.source.String()
}

func heldBy(t *v1alpha1.FluxTrigger) held {
	ref := t.Spec.KustomizationRef
	h := held{
		trigger:       client.ObjectKeyFromObject(t),
		triggerUID:    t.UID,
		orphan:        t.Spec.OnDelete == v1alpha1.OnDeleteOrphan,
		kustomization: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name},
		appliedBy:     appliedBy(t),
	}
	if op := t.Status.Operation; op != nil && op.FreezeToken != "" {
		h.source.Namespace, h.source.Name, _ = strings.Cut(op.SourceRef, "/")
	}
	return h
}

// named returns what the triggers of these names hold. One that cannot be read says why, and keeps no other from being
// handed back.
func (r *releaser) named(ctx context.Context, args []string) ([]held, error) {
	var work []held
	for _, arg := range args {
		name, err := parse(arg)
		if err != nil {
			return nil, err
		}
		var t v1alpha1.FluxTrigger
		switch err := r.client.Get(ctx, name, &t); {
		case gone(err):
			work = append(work, held{trigger: name, err: errors.New("there is none of that name; " +
				"a Kustomization that a trigger left behind is found with holdfast release --all")})
		case err != nil:
			work = append(work, held{trigger: name, err: advise("get", triggers, name.Namespace, err)})
		default:
			work = append(work, heldBy(&t))
		}
	}
	return work, nil
}

// everything returns what any trigger holds, and each Kustomization that still carries a hold whose trigger is gone.
func (r *releaser) everything(ctx context.Context) ([]held, error) {
	var listed v1alpha1.FluxTriggerList
	if err := r.client.List(ctx, &listed); err != nil && !gone(err) {
		return nil, advise("list", triggers, "", err)
	}
	var work []held
	named, known := map[types.NamespacedName]bool{}, map[string]bool{}
	for i := range listed.Items {
		h := heldBy(&listed.Items[i])
		work = append(work, h)
		named[h.kustomization], known[string(h.triggerUID)] = true, true
	}
	var all kustomizev1.KustomizationList
	if err := r.client.List(ctx, &all); err != nil && !gone(err) {
		return nil, advise("list", kustomizations, "", err)
	}
	cluster := ""
	for i := range all.Items {
		k := &all.Items[i]
		if !release.Carries(k) {
			continue
		}
		of, uid, _ := strings.Cut(ownership.Holder(k), "/")
		if known[uid] || uid == "" && named[client.ObjectKeyFromObject(k)] {
			continue
		}
		h := held{kustomization: client.ObjectKeyFromObject(k), triggerUID: types.UID(uid)}
		if of != "" && cluster == "" {
			var err error
			if cluster, err = r.clusterUID(ctx); err != nil {
				return nil, err
			}
		}
		if of != "" && of != cluster {
			h.err = fmt.Errorf("it is held from another cluster, whose kube-system has uid %s; run this there", of)
		}
		work = append(work, h)
	}
	return r.frozen(ctx, work)
}

// frozen returns work and each GitRepository that a holder froze for an operation of a trigger that is gone.
func (r *releaser) frozen(ctx context.Context, work []held) ([]held, error) {
	known := map[types.NamespacedName]bool{}
	for _, h := range work {
		known[h.source] = true
	}
	var all sourcev1.GitRepositoryList
	if err := r.client.List(ctx, &all); err != nil && !gone(err) {
		return nil, advise("list", sources, "", err)
	}
	for i := range all.Items {
		g := &all.Items[i]
		if name := client.ObjectKeyFromObject(g); ownership.Suspend(g) && !known[name] {
			work = append(work, held{source: name})
		}
	}
	return work, nil
}

// clusterUID is what a hold names the cluster of its trigger by.
func (r *releaser) clusterUID(ctx context.Context) (string, error) {
	var ns corev1.Namespace
	if err := r.client.Get(ctx, types.NamespacedName{Name: "kube-system"}, &ns); err != nil {
		return "", advise("get", "namespaces", "", err)
	}
	return string(ns.UID), nil
}

// gone says that an object or its kind does not exist.
func gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// advise says of an error what a person can do.
func advise(verb, resource, namespace string, err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("%s %s: %w", verb, resource, err)
	}
	in := ""
	if namespace != "" {
		in = " in namespace " + namespace
	}
	return fmt.Errorf("you may not %s %s%s; run this as somebody who may, or get the permission: %w", verb, resource, in, err)
}
