package hold

import (
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// standsOn returns the first object among those k manages that a hold stands on, as `Kind namespace/name`; empty when there
// is none. Such are the controllers of Flux that run in namespace, where this holder is, and that namespace; the kinds of
// Flux and of Holdfast; and Holdfast's own programs. Were k held, a fault in any of these could not be mended through Git.
//
// It reads the inventory, which names what the last apply left: `namespace_name_group_kind`.
func standsOn(k *kustomizev1.Kustomization, namespace string) string {
	if k.Status.Inventory == nil {
		return ""
	}
	for _, e := range k.Status.Inventory.Entries {
		id := strings.Split(e.ID, "_")
		if len(id) != 4 {
			continue
		}
		ns, name, group, kind := id[0], id[1], id[2], id[3]
		switch {
		case group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition" && ownKind(name),
			group == "" && kind == "Namespace" && name == namespace,
			group == "apps" && ns == namespace && controller(name),
			strings.HasPrefix(name, "holdfast") && (group == "apps" || group == "admissionregistration.k8s.io"):
			return kind + " " + strings.TrimPrefix(ns+"/"+name, "/")
		}
	}
	return ""
}

// ownKind says that a CustomResourceDefinition of that name is of Flux or of Holdfast.
func ownKind(name string) bool {
	return strings.HasSuffix(name, ".holdfast.dev") || strings.HasSuffix(name, ".toolkit.fluxcd.io")
}

// controller says that a workload of that name is a controller whose work a held Kustomization needs; shards have a suffix.
func controller(name string) bool {
	return strings.HasPrefix(name, "kustomize-controller") || strings.HasPrefix(name, "source-controller")
}
