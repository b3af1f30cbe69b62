package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Kind is how objects of one kind are kept.
type Kind struct {
	GVK      schema.GroupVersionKind
	Resource string
	schema   *spec.Schema // nil: nothing is known of it, every list is atomic
	main     *managedfields.FieldManager
	status   *managedfields.FieldManager // nil: there is no status subresource
}

// metadata is the part of every object that the server itself owns the schema of.
const metadata = `{"type":"object","properties":{
	"name":{"type":"string"},"generateName":{"type":"string"},"namespace":{"type":"string"},"uid":{"type":"string"},
	"resourceVersion":{"type":"string"},"generation":{"type":"integer"},"selfLink":{"type":"string"},
	"creationTimestamp":{"type":"string"},"deletionTimestamp":{"type":"string"},"deletionGracePeriodSeconds":{"type":"integer"},
	"labels":{"type":"object","additionalProperties":{"type":"string"}},
	"annotations":{"type":"object","additionalProperties":{"type":"string"}},
	"finalizers":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
	"ownerReferences":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["uid"],"items":{"type":"object",
		"x-kubernetes-map-type":"atomic","properties":{"apiVersion":{"type":"string"},"kind":{"type":"string"},"name":{"type":"string"},
		"uid":{"type":"string"},"controller":{"type":"boolean"},"blockOwnerDeletion":{"type":"boolean"}}}},
	"managedFields":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}`

// Kinds returns the kinds of Holdfast's chart and of the Flux that test/cluster pins, read once, and those without a
// schema that a holder writes.
var Kinds = sync.OnceValues(func() ([]Kind, error) {
	root, err := checkout()
	if err != nil {
		return nil, err
	}
	flux, err := modules(filepath.Join(root, "test", "cluster", "flux"), "github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller")
	if err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, pattern := range []string{
		filepath.Join(root, "charts", "holdfast", "files", "crds", "*.yaml"),
		filepath.Join(flux[0], "config", "crd", "bases", "*gitrepositories.yaml"),
		filepath.Join(flux[1], "config", "crd", "bases", "*.yaml"),
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no kinds at %s: %w", pattern, err)
		}
		for _, file := range files {
			some, err := readKind(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			kinds = append(kinds, some...)
		}
	}
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "Pod"},
		{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		k, err := newKind(gvk, strings.ToLower(gvk.Kind)+"s", nil, gvk.Kind == "Namespace")
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
})

// readKind returns each served version of the CustomResourceDefinition in the file as a kind of its own.
func readKind(file string) ([]Kind, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, v := range crd.Spec.Versions {
		if !v.Storage {
			continue
		}
		raw, err := json.Marshal(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		var s, meta spec.Schema
		if err := errors.Join(json.Unmarshal(raw, &s), json.Unmarshal([]byte(metadata), &meta)); err != nil {
			return nil, err
		}
		s.Properties["metadata"] = meta
		gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}
		k, err := newKind(gvk, crd.Spec.Names.Plural, &s, v.Subresources != nil && v.Subresources.Status != nil)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func newKind(gvk schema.GroupVersionKind, resource string, s *spec.Schema, hasStatus bool) (Kind, error) {
	k := Kind{GVK: gvk, Resource: resource, schema: s}
	types := managedfields.NewDeducedTypeConverter()
	if s != nil {
		s.AddExtension("x-kubernetes-group-version-kind", []any{
			map[string]any{"group": gvk.Group, "version": gvk.Version, "kind": gvk.Kind},
		})
		var err error
		if types, err = managedfields.NewTypeConverter(map[string]*spec.Schema{gvk.Kind: s}, false); err != nil {
			return k, fmt.Errorf("schema of %s: %w", gvk.Kind, err)
		}
	}
	manager := func(subresource string, reset ...string) (*managedfields.FieldManager, error) {
		set := fieldpath.NewSet()
		for _, field := range reset {
			set.Insert(fieldpath.MakePathOrDie(field))
		}
		return managedfields.NewDefaultCRDFieldManager(types, plain{}, plain{}, plain{}, gvk, gvk.GroupVersion(), subresource,
			map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(gvk.GroupVersion().String()): fieldpath.NewExcludeSetFilter(set)})
	}
	var err error
	if !hasStatus {
		k.main, err = manager("")
		return k, err
	}
	if k.main, err = manager("", "status"); err == nil {
		k.status, err = manager("status", "metadata", "spec")
	}
	return k, err
}

// checkout walks up from the working folder to the folder of the product's go.mod.
func checkout() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if first, _, _ := strings.Cut(string(content), "\n"); err == nil && first == "module github.com/holdfast-gitops/holdfast" {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no checkout of Holdfast at or above %s", wd)
		}
	}
}

// modules returns where the sources of modules are that dir's go.mod pins, downloading them when they are not there.
func modules(dir string, names ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"mod", "download", "-json"}, names...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	// A caller's overlay or -mod flag is about another module than dir's.
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the modules of Flux: %w", err)
	}
	var dirs []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Dir string }
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return dirs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find the modules of Flux: %w", err)
		}
		dirs = append(dirs, m.Dir)
	}
}
