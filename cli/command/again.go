package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// looks is how often everything is handed back before those who make triggers anew are named instead.
const looks = 3

// untilNothingIsHeld hands everything back and looks again: a trigger that is in Git, or in a chart, may be made anew as soon
// as what was held applies again, and be carried out by a holder that runs.
func (r *releaser) untilNothingIsHeld(ctx context.Context, out io.Writer, work []held) error {
	for look := 1; ; look++ {
		if err := r.handBackAll(ctx, out, work); err != nil || len(work) == 0 {
			return err
		}
		again, err := r.everything(ctx)
		if err != nil {
			return fmt.Errorf("look again: %w", err)
		}
		if len(again) == 0 {
			return nil
		}
		if look == looks {
			names := make([]string, len(again))
			for i, h := range again {
				names[i] = h.String() + h.madeBy()
			}
			return fmt.Errorf("made anew each time it is deleted: %s; take it out of where it is applied from and run this again", strings.Join(names, ", "))
		}
		work = again
	}
}

// madeBy names who makes the trigger anew, in brackets.
func (h held) madeBy() string {
	if h.appliedBy == "" {
		return ""
	}
	return " (" + h.appliedBy + ")"
}

// warning says that the trigger comes back unless somebody does something.
func (h held) warning() string {
	if h.appliedBy == "" {
		return ""
	}
	return "; its trigger is applied by " + h.appliedBy + ", which makes it anew unless you take it out there"
}

// Marks of those who apply what is in Git, on the objects they apply.
const (
	fluxName      = "kustomize.toolkit.fluxcd.io/name"
	fluxNamespace = "kustomize.toolkit.fluxcd.io/namespace"
	helmName      = "helm.toolkit.fluxcd.io/name"
	helmNamespace = "helm.toolkit.fluxcd.io/namespace"
	argoTracking  = "argocd.argoproj.io/tracking-id"
)

// appliedBy reads who applies an object from what they mark it with; empty: nobody does, or without a mark.
func appliedBy(o client.Object) string {
	labels := o.GetLabels()
	switch {
	case labels[fluxName] != "":
		return "Kustomization " + labels[fluxNamespace] + "/" + labels[fluxName]
	case labels[helmName] != "":
		return "HelmRelease " + labels[helmNamespace] + "/" + labels[helmName]
	}
	if application, _, ok := strings.Cut(o.GetAnnotations()[argoTracking], ":"); ok {
		return "Application " + application
	}
	return ""
}
