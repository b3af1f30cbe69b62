package manifest

import (
	"maps"
	"strings"
)

// Sanitize returns a deep copy of a live object with only what belongs into Git: no status, nothing the API server, a
// built-in controller or a GitOps tool put there, and at no depth a last-applied annotation, which is a whole copy of
// the object. Maps of labels and annotations that end up empty are dropped.
func Sanitize(obj map[string]any) map[string]any {
	out, _ := copyValue(obj).(map[string]any)
	delete(out, "status")
	dropAssigned(out)
	if meta, ok := out["metadata"].(map[string]any); ok {
		for _, k := range volatileMetadata {
			delete(meta, k)
		}
		dropMarks(meta, "labels")
		dropMarks(meta, "annotations")
	}
	dropLastApplied(out)
	return out
}

// Controlled says whether a controller made the live object obj (a ReplicaSet's Pod, a CronJob's Job): such an object
// is never mirrored, since its controller makes it again.
func Controlled(obj map[string]any) bool {
	meta, _ := obj["metadata"].(map[string]any)
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		if m, ok := o.(map[string]any); ok && m["controller"] == true {
			return true
		}
	}
	return false
}

// volatileMetadata is what the API server and controllers keep in metadata. A finalizer is a controller's promise: one
// read from Git would keep an object whose controller is gone. An owner's uid is another one in the next cluster, where
// a stale reference means garbage collection at once.
var volatileMetadata = []string{
	"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "deletionTimestamp",
	"deletionGracePeriodSeconds", "ownerReferences", "generateName", "finalizers", "clusterName",
}

// marks are the labels and annotations that controllers and GitOps tools write; one ending in "/" is a prefix.
var marks = []string{
	"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "reconcile.fluxcd.io/", "holdfast.dev/",
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id", "argocd.argoproj.io/instance",
	"argocd.argoproj.io/refresh", "argocd.argoproj.io/hydrate",
	"deployment.kubernetes.io/", "deprecated.daemonset.template.generation",
	"control-plane.alpha.kubernetes.io/leader", "endpoints.kubernetes.io/last-change-trigger-time",
	"pv.kubernetes.io/", "volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner",
	"volume.beta.kubernetes.io/storage-provisioner", "kubernetes.io/metadata.name", "objectset.rio.cattle.io/",
}

// settings begin like a mark but are what people tell Flux about an object; they live in Git.
var settings = map[string]bool{
	"kustomize.toolkit.fluxcd.io/prune": true, "kustomize.toolkit.fluxcd.io/ssa": true,
	"kustomize.toolkit.fluxcd.io/force": true, "kustomize.toolkit.fluxcd.io/reconcile": true,
	"kustomize.toolkit.fluxcd.io/substitute": true, "reconcile.fluxcd.io/watch": true,
}

// isMark says whether the label or annotation key is one that programs put on live objects.
func isMark(key string) bool {
	if settings[key] {
		return false
	}
	for _, m := range marks {
		if key == m || strings.HasSuffix(m, "/") && strings.HasPrefix(key, m) {
			return true
		}
	}
	return isLastApplied(key)
}

// dropMarks removes the marks from meta's map of the given name, and the map when nothing else is in it.
func dropMarks(meta map[string]any, name string) {
	m, ok := meta[name].(map[string]any)
	if !ok {
		if meta[name] == nil {
			delete(meta, name)
		}
		return
	}
	maps.DeleteFunc(m, func(k string, _ any) bool { return isMark(k) })
	if len(m) == 0 {
		delete(meta, name)
	}
}

// isLastApplied says whether an annotation holds the object as some tool last applied it, values of Secrets included.
func isLastApplied(key string) bool {
	_, name, ok := strings.Cut(key, "/")
	return ok && (name == "last-applied-configuration" || name == "last-applied")
}

// dropLastApplied removes last-applied annotations at every depth, and the maps they leave empty: templates and lists
// carry them too.
func dropLastApplied(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			m := mapOf(e)
			before := len(m)
			maps.DeleteFunc(m, func(k string, _ any) bool { return isLastApplied(k) })
			if before > 0 && len(m) == 0 {
				delete(v, k)
			}
			dropLastApplied(e)
		}
	case []any:
		for _, e := range v {
			dropLastApplied(e)
		}
	}
}

// dropAssigned removes the fields of spec that the cluster chose for kinds built into Kubernetes.
func dropAssigned(obj map[string]any) {
	spec := mapOf(obj["spec"])
	kind, _ := obj["kind"].(string)
	switch apiVersion, _ := obj["apiVersion"].(string); apiVersion + "/" + kind {
	case "v1/Service":
		if spec["clusterIP"] != "None" {
			delete(spec, "clusterIP")
		}
		delete(spec, "clusterIPs")
		delete(spec, "healthCheckNodePort")
	case "v1/PersistentVolumeClaim":
		annotations := mapOf(mapOf(obj["metadata"])["annotations"])
		if _, chosen := annotations["pv.kubernetes.io/bound-by-controller"]; chosen {
			delete(spec, "volumeName")
		}
	case "v1/Namespace":
		delete(spec, "finalizers")
		if len(spec) == 0 {
			delete(obj, "spec")
		}
	case "v1/Pod":
		delete(spec, "nodeName")
	case "batch/v1/Job":
		if spec["manualSelector"] == true {
			return
		}
		delete(spec, "selector")
		for _, meta := range []map[string]any{mapOf(obj["metadata"]), mapOf(mapOf(spec["template"])["metadata"])} {
			labels := mapOf(meta["labels"])
			for _, k := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"} {
				delete(labels, k)
			}
			if len(labels) == 0 {
				delete(meta, "labels")
			}
		}
	}
}

// mapOf returns v as a map, nil when it is none.
func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
