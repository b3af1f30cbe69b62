package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/scene"
)

// The phases of a bare cycle, in order.
const (
	bareFetched = "stamped → artifact"
	bareApplied = "→ applied"
	bareHandled = "→ stamp handled"
)

var barePhases = []string{bareFetched, bareApplied, bareHandled}

// bareCycle applies the commit as a person without Holdfast does, and returns when it began and what was seen when.
func bareCycle(ctx context.Context, t *scene.Team, e *eye, commit, token string) (lap, error) {
	e.forget()
	l := lap{begin: time.Now(), marks: map[string]time.Time{}}
	if err := stamp(ctx, t, &sourcev1.GitRepository{}, token); err != nil {
		return l, err
	}
	applied := func(s sight) {
		if k, ok := s.obj.(*kustomizev1.Kustomization); ok && strings.HasSuffix(k.Status.LastAppliedRevision, ":"+commit) {
			l.mark(bareApplied, s.at)
		}
	}
	_, err := e.await(ctx, "the artifact is the commit", func(s sight) bool {
		applied(s)
		g, ok := s.obj.(*sourcev1.GitRepository)
		if !ok || !atCommit(g, commit) {
			return false
		}
		l.mark(bareFetched, s.at)
		return true
	})
	if err != nil {
		return l, err
	}
	if err := stamp(ctx, t, &kustomizev1.Kustomization{}, token); err != nil {
		return l, err
	}
	l.end, err = e.await(ctx, "the stamp is handled and the commit applied", func(s sight) bool {
		applied(s)
		k, ok := s.obj.(*kustomizev1.Kustomization)
		return ok && k.Status.LastHandledReconcileAt == token && strings.HasSuffix(k.Status.LastAppliedRevision, ":"+commit)
	})
	l.mark(bareHandled, l.end)
	return l, err
}

// stamp asks the controller of the team's object to reconcile, as `flux reconcile` does.
func stamp(ctx context.Context, t *scene.Team, obj client.Object, token string) error {
	obj.SetNamespace(t.FluxName().Namespace)
	obj.SetName(t.FluxName().Name)
	patch, err := json.Marshal(map[string]any{"metadata": metav1.ObjectMeta{Annotations: map[string]string{meta.ReconcileRequestAnnotation: token}}})
	if err != nil {
		return err
	}
	if err := t.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("stamp %T: %w", obj, err)
	}
	return nil
}

// atCommit says that the artifact is of the commit.
func atCommit(g *sourcev1.GitRepository, commit string) bool {
	return g.Status.Artifact != nil && strings.HasSuffix(g.Status.Artifact.Revision, ":"+commit)
}
