package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// heldBound is for all triggers to be held, on a busy machine.
const heldBound = 5 * time.Minute

// addTriggers makes the team's triggers number had to n-1: each with a GitTarget that names it and a Kustomization of its
// own, all of one GitRepository. The Kustomizations are made suspended, so that Flux does not first apply each of them.
func addTriggers(ctx context.Context, team *scene.Team, had, n int) error {
	if had == 0 {
		if err := team.Furnish(ctx); err != nil { // the first
			return err
		}
		had = 1
	}
	first, err := team.Kustomization(ctx)
	if err != nil {
		return err
	}
	for i := had; i < n; i++ {
		name := fmt.Sprintf("web-%03d", i)
		k := first.DeepCopy()
		k.ObjectMeta = metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: team.Name + name[3:]}
		k.Spec.Suspend = true
		objs := []client.Object{k}
		for _, o := range team.Holdfast() {
			switch o := o.(type) {
			case *v1alpha1.GitTarget:
				o.Name, o.Spec.ApplyTriggerRef.Name = name, name
				objs = append(objs, o)
			case *v1alpha1.FluxTrigger:
				o.Name, o.Spec.KustomizationRef.Name = name, k.Name
				objs = append(objs, o)
			}
		}
		for _, o := range objs {
			if err := team.Client.Create(ctx, o); err != nil {
				return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
			}
		}
	}
	return nil
}
