package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fieldManager is the world's own; it is in no story.
const fieldManager = "holdfast-test-world"

// Apply applies the objects in documents, YAML, as the administrator. It is for what a story takes as given; what a
// person does in a story goes through Kubectl, as that person.
func (w *World) Apply(ctx context.Context, documents string) error {
	objects, err := decode([]byte(documents))
	if err != nil {
		return err
	}
	return w.apply(ctx, objects)
}

func (w *World) apply(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err)
		}
	}
	return nil
}

// decode reads the objects of a YAML stream; empty documents are left out.
func decode(documents []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := d.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("read YAML: %w", err)
		case len(o.Object) > 0:
			objects = append(objects, o)
		}
	}
}

// readFolder reads the objects of all YAML files in dir.
func readFolder(dir string) ([]*unstructured.Unstructured, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no YAML files in %s", dir)
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		some, err := decode(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

// installKinds applies the CRDs of Holdfast and of Flux, and waits until all are served.
func (w *World) installKinds(ctx context.Context) error {
	dirs := []string{filepath.Join(w.root, "charts", "holdfast", "files", "crds")}
	flux, err := moduleDirs(ctx, filepath.Join(w.root, "test", "cluster", "flux"),
		"github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller")
	if err != nil {
		return err
	}
	for _, dir := range flux {
		dirs = append(dirs, filepath.Join(dir, "config", "crd", "bases"))
	}
	var kinds []*unstructured.Unstructured
	for _, dir := range dirs {
		some, err := readFolder(dir)
		if err != nil {
			return err
		}
		kinds = append(kinds, some...)
	}
	if err := w.apply(ctx, kinds); err != nil {
		return err
	}
	for _, k := range kinds {
		if err := w.waitEstablished(ctx, k.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// waitEstablished waits until the CRD is served. Its conditions may be null at first, which kubectl wait errors on.
func (w *World) waitEstablished(ctx context.Context, name string) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := w.client.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return fmt.Errorf("wait for the kind %s: %w", name, err)
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the kind %s was never served: %w", name, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// moduleDirs returns where the sources of modules are that dir's go.mod pins, downloading them when they are not there.
func moduleDirs(ctx context.Context, dir string, modules ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"mod", "download", "-json"}, modules...)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find the modules of Flux: %w: %s", err, strings.TrimSpace(stderr.String()))
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
