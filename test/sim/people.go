package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
)

var provider = types.NamespacedName{Name: v1alpha1.DefaultKubeProvider}

// deed is something a person, or the world, does at a time of the scheduler's choosing.
type deed struct {
	what string
	do   func(*World) error
	when func(*World) bool // as soon as this is so; nil: at any time
}

// deeds are all there are, by name.
var deeds = []deed{
	{what: "a person asks for the tip to be applied", do: func(w *World) error {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"holdfast.dev/requestedAt":"%d"}}}`, w.steps)
		return w.patch(&v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}, "kubectl-annotate", patch)
	}},
	{what: "the trigger is told to orphan", do: func(w *World) error {
		return w.patch(&v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}, "kubectl-edit", `{"spec":{"onDelete":"Orphan"}}`)
	}},
	{what: "a request to apply", do: func(w *World) error { w.mirror.wants = true; return nil }},
	{what: "a push, and a request", do: func(w *World) error { w.push(false); w.mirror.wants = true; return nil }},
	{what: "a push", do: func(w *World) error { w.push(false); return nil }},
	{what: "a push of something broken, and a request", do: func(w *World) error { w.push(true); w.mirror.wants = true; return nil }},
	{what: "a push of equal manifests, and a request", do: func(w *World) error {
		w.Repo.Push(w.Repo.Head().Content, false)
		w.mirror.wants = true
		return nil
	}},
	{what: "flux resume", do: func(w *World) error { return w.patchApplier("flux", `{"spec":{"suspend":false}}`) }},
	{what: "flux suspend", do: func(w *World) error { return w.patchApplier("flux", `{"spec":{"suspend":true}}`) }},
	{what: "flux resume, and flux suspend at once", do: func(w *World) error {
		if err := w.patchApplier("flux", `{"spec":{"suspend":false}}`); err != nil {
			return err
		}
		return w.patchApplier("flux", `{"spec":{"suspend":true}}`)
	}},
	{what: "kubectl edit removes spec.suspend", do: func(w *World) error { return w.patchApplier("kubectl-edit", `{"spec":{"suspend":null}}`) }},
	{what: "kubectl edit changes the path", do: func(w *World) error {
		return w.patchApplier("kubectl-edit", fmt.Sprintf(`{"spec":{"path":"./apps-%d"}}`, w.steps))
	}},
	{what: "flux reconcile kustomization", do: func(w *World) error { return w.stamp(kustomizev1.GroupVersion.WithKind("Kustomization"), app) }},
	{what: "flux reconcile source", do: func(w *World) error { return w.stamp(sourcev1.GroupVersion.WithKind("GitRepository"), repo) }},
	{what: "kubectl annotate takes the token away", do: func(w *World) error {
		return w.patchApplier("kubectl-annotate", `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":null}}}`)
	}},
	{what: "kubectl annotate takes held-by away", do: func(w *World) error {
		return w.patchApplier("kubectl-annotate", `{"metadata":{"annotations":{"holdfast.dev/held-by":null}}}`)
	}},
	{what: "somebody wipes our finalizer off the Kustomization", do: func(w *World) error {
		k := w.applier()
		if k == nil {
			return nil
		}
		rest := slices.DeleteFunc(slices.Clone(k.Finalizers), func(f string) bool { return f == v1alpha1.HoldFinalizer })
		return w.finalizers(k, rest)
	}},
	{what: "somebody wipes our finalizer off the trigger", do: func(w *World) error {
		f := w.trigger()
		if f == nil {
			return nil
		}
		return w.finalizers(f, nil)
	}},
	{what: "flux suspend source", do: func(w *World) error { return w.patchSource(`{"spec":{"suspend":true}}`) }},
	{what: "flux resume source", do: func(w *World) error { return w.patchSource(`{"spec":{"suspend":false}}`) }},
	{what: "the trigger is deleted", do: func(w *World) error { return w.remove(&v1alpha1.FluxTrigger{}, app) }},
	{what: "the GitTarget is deleted", do: func(w *World) error {
		return w.remove(&v1alpha1.GitTarget{}, types.NamespacedName{Namespace: app.Namespace, Name: "web"})
	}},
	{what: "the GitTarget is made", do: func(w *World) error { return w.make(gitTarget()) }},
	{what: "the KubeProvider is deleted", do: func(w *World) error { return w.remove(&v1alpha1.KubeProvider{}, provider) }},
	{what: "the Kustomization is deleted", do: func(w *World) error { return w.remove(&kustomizev1.Kustomization{}, app) }},
	{what: "the Kustomization is made", do: func(w *World) error { return w.make(kustomization()) }},
	{what: "the trigger is made", do: func(w *World) error { return w.make(fluxTrigger()) }},
	{what: "kustomize-controller is killed", do: func(w *World) error { w.killLeader(); return nil }},
	{what: "another kustomize-controller leads, and the old one does not know", do: func(w *World) error { w.depose(); return nil }},
	{what: "what is applied does not become ready", do: func(w *World) error {
		w.unhealthy = true
		return w.patchApplier("kubectl-edit", `{"spec":{"wait":true}}`)
	}},
	{what: "what is applied becomes ready", do: func(w *World) error { w.unhealthy = false; return nil }},
	{what: "Git is down", do: func(w *World) error { w.source.Down(true); return nil }},
	{what: "Git is up", do: func(w *World) error { w.source.Down(false); return nil }},
	{what: "the holder is killed", do: func(w *World) error {
		for _, h := range w.holders {
			if !h.dead {
				h.kill()
				return nil
			}
		}
		return nil
	}},
	{what: "a minute passes", do: func(w *World) error { w.now = w.now.Add(time.Minute); return nil }},
	{what: "six minutes pass", do: func(w *World) error { w.now = w.now.Add(6 * time.Minute); return nil }},
}

// deedNamed returns a deed; the name must be one.
func deedNamed(what string) deed {
	i := slices.IndexFunc(deeds, func(d deed) bool { return d.what == what })
	if i < 0 {
		panic("nobody does: " + what)
	}
	return deeds[i]
}

func (w *World) push(broken bool) { w.Repo.Push(fmt.Sprintf("content %d", w.Repo.Pushed()%3), broken) }

func (w *World) patchApplier(manager, patch string) error {
	return w.patch(&kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}, manager, patch)
}

func (w *World) patchSource(patch string) error {
	return w.patch(&sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: repo.Namespace, Name: repo.Name}}, "flux", patch)
}

func (w *World) patch(o client.Object, manager, patch string) error {
	return client.IgnoreNotFound(w.Client.Patch(context.Background(), o, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)))
}

// stamp asks for a reconcile by hand.
func (w *World) stamp(gvk schema.GroupVersionKind, key types.NamespacedName) error {
	body := map[string]any{"metadata": map[string]any{"annotations": map[string]any{meta.ReconcileRequestAnnotation: fmt.Sprintf("by-hand-%d", w.steps)}}}
	_, err := w.Server.Do(apiserver.Write{Verb: apiserver.Patch, Kind: w.kind(gvk), Key: key, Manager: "flux", Body: body})
	return client.IgnoreNotFound(err)
}

func (w *World) finalizers(o client.Object, rest []string) error {
	before := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(rest)
	return client.IgnoreNotFound(w.Client.Patch(context.Background(), o, client.MergeFrom(before), client.FieldOwner("kubectl-patch")))
}

func (w *World) remove(o client.Object, key types.NamespacedName) error {
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	return client.IgnoreNotFound(w.Client.Delete(context.Background(), o))
}

// make creates the object unless there is one.
func (w *World) make(o client.Object) error {
	err := w.Client.Create(context.Background(), o, client.FieldOwner("kubectl-create"))
	return ignoreExists(err)
}
