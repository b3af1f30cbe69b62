package main

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// The phases of a held cycle, in order. Each ends with what it is named after.
const (
	heldWritten   = "request written"
	heldStamped   = "→ source stamped"
	heldFetched   = "→ artifact"
	heldRecorded  = "→ recorded"
	heldResumed   = "→ resumed"
	heldStarted   = "→ run started"
	heldSuspended = "→ suspend sent"
	heldHandled   = "→ suspend handled"
	heldJudged    = "→ judged"
)

var heldPhases = []string{
	heldWritten, heldStamped, heldFetched, heldRecorded, heldResumed, heldStarted, heldSuspended, heldHandled, heldJudged,
}

// heldCycle asks for the commit as gitmirror does, and returns when it began and what was seen when. as is a client with
// gitmirror's identity.
func heldCycle(ctx context.Context, t *scene.Team, e *eye, as client.Client, commit, id string) (lap, error) {
	e.forget()
	before, err := t.GitRepository(ctx)
	if err != nil {
		return lap{}, err
	}
	l, err := ask(ctx, t, as, commit, id)
	if err != nil {
		return l, err
	}
	var failed error
	stamped := before.Annotations[meta.ReconcileRequestAnnotation]
	l.end, err = e.await(ctx, "the commit is applied, judged and held", func(s sight) bool {
		switch o := s.obj.(type) {
		case *sourcev1.GitRepository:
			if o.Annotations[meta.ReconcileRequestAnnotation] != stamped {
				l.mark(heldStamped, s.at)
			}
			if atCommit(o, commit) {
				l.mark(heldFetched, s.at)
			}
		case *kustomizev1.Kustomization:
			l.follow(o, s.at)
		case *v1alpha1.FluxTrigger:
			if op := o.Status.Operation; op != nil && op.RequestID == id {
				l.mark(heldRecorded, s.at)
			}
			if h := o.Status.LastHandledRequest; h != nil && h.ID == id && h.Outcome != v1alpha1.OutcomeSucceeded {
				failed = fmt.Errorf("the request was answered %s: %s", h.Outcome, h.Message)
				return true
			}
			return judged(o, commit, id)
		}
		return false
	})
	l.mark(heldJudged, l.end)
	if failed != nil {
		err = failed
	}
	return l, err
}

// follow marks how far the run is by what the Kustomization shows.
func (l *lap) follow(k *kustomizev1.Kustomization, at time.Time) {
	progress := apimeta.FindStatusCondition(k.Status.Conditions, meta.ReconcilingCondition)
	token := k.Annotations[meta.ReconcileRequestAnnotation]
	switch _, resumed := l.marks[heldResumed]; {
	case !k.Spec.Suspend:
		l.mark(heldResumed, at)
		if progress != nil && progress.Reason == meta.ProgressingReason && progress.ObservedGeneration == k.Generation ||
			k.Status.LastHandledReconcileAt == token {
			l.mark(heldStarted, at)
		}
	case resumed:
		l.mark(heldSuspended, at)
		if k.Status.LastHandledReconcileAt == token {
			l.mark(heldHandled, at)
		}
	}
}

// judged says that the trigger calls the request done and its Kustomization held.
func judged(f *v1alpha1.FluxTrigger, commit, id string) bool {
	op, held := f.Status.Operation, status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
	return op != nil && op.RequestID == id && op.Commit == commit && op.Phase == v1alpha1.OperationSucceeded &&
		held != nil && held.Status == metav1.ConditionTrue && v1alpha1.Reason(held.Reason) == v1alpha1.ReasonSuspended
}

// ask writes the request, guarded by the resourceVersion like every write of a trigger's status. A write that lost a race
// is written again and begins anew.
func ask(ctx context.Context, t *scene.Team, as client.Client, commit, id string) (lap, error) {
	for {
		f, err := t.Trigger(ctx)
		if err != nil {
			return lap{}, err
		}
		request, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.ApplyRequest{
			ID: id, Reason: v1alpha1.ApplyForeignCommit, Commit: commit, Revision: "main@sha1:" + commit, RequestedAt: metav1.Now(),
		})
		if err != nil {
			return lap{}, err
		}
		body := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "FluxTrigger",
			"metadata": map[string]any{"namespace": f.Namespace, "name": f.Name, "uid": string(f.UID), "resourceVersion": f.ResourceVersion},
			"status":   map[string]any{"request": request},
		}}
		l := lap{begin: time.Now(), marks: map[string]time.Time{}}
		err = as.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(body), client.FieldOwner(v1alpha1.MirrorFieldManager))
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return l, fmt.Errorf("write the request: %w", err)
		}
		l.mark(heldWritten, time.Now())
		return l, nil
	}
}
