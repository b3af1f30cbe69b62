package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// manifest is one document of a file: text as it was read, and what it says.
type manifest struct {
	text []byte
	tree map[string]any
}

// subject is a pod that a manifest describes, itself or as the template of a workload.
type subject struct {
	name      string // as a line about it begins
	namespace string // "": the manifest does not say
	path      string // JSON pointer to what has the pod's metadata and spec; "" is the whole document
	pod       []byte // as the API server would be sent it
}

// templates are where the kinds that make pods keep the template.
var templates = map[string]string{
	"DaemonSet": "spec", "Deployment": "spec", "Job": "spec", "PodTemplate": "", "ReplicaSet": "spec", "ReplicationController": "spec", "StatefulSet": "spec",
}

// readManifests reads YAML or JSON documents. Those that say nothing are left out.
func readManifests(in []byte) ([]manifest, error) {
	var all []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(in)))
	for n := 1; ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for _, text := range objectsIn(document) {
			m := manifest{text: text}
			if m.tree, err = parseObject(text); err != nil {
				return nil, fmt.Errorf("document %d is no Kubernetes object: %w", n, err)
			}
			if m.tree != nil {
				all = append(all, m)
			}
			n++
		}
	}
}

// objectsIn parts JSON objects that follow each other with nothing between, of which YAML would see the first alone.
// Anything else is one document.
func objectsIn(document []byte) [][]byte {
	if !bytes.HasPrefix(bytes.TrimSpace(document), []byte("{")) {
		return [][]byte{document}
	}
	var objects [][]byte
	for d := json.NewDecoder(bytes.NewReader(document)); ; {
		var object json.RawMessage
		err := d.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			return [][]byte{document} // which may be YAML in braces, or is found wanting as such
		}
		objects = append(objects, object)
	}
}

// parseObject reads one object, and keeps every number as it is written.
func parseObject(text []byte) (map[string]any, error) {
	text, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return tree, d.Decode(&tree)
}

// subjects returns every pod and template in a manifest, also those in a list.
func (m manifest) subjects() ([]subject, error) { return subjectsOf(m.tree, "", "") }

// subjectsOf returns the pods and templates in an object at path; kind is what it is where it does not say so itself.
func subjectsOf(object map[string]any, path, kind string) ([]subject, error) {
	if own, ok := object["kind"].(string); ok {
		kind = own
	}
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		var all []subject
		for i, item := range items {
			fields, _ := item.(map[string]any)
			found, err := subjectsOf(fields, fmt.Sprintf("%s/items/%d", path, i), strings.TrimSuffix(kind, "List"))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	}
	metadata, _ := object["metadata"].(map[string]any)
	s := subject{path: path}
	s.namespace, _ = metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	if generated, ok := metadata["generateName"].(string); ok && name == "" {
		name = generated + "…"
	}
	s.name = strings.Join(slices.DeleteFunc([]string{s.namespace, name}, func(part string) bool { return part == "" }), "/")
	s.name = printable(strings.TrimSpace(kind + " " + s.name))

	pod := object
	if in, ok := templates[kind]; ok {
		if in != "" {
			pod, _ = pod[in].(map[string]any)
			s.path += "/" + in
		}
		pod, _ = pod["template"].(map[string]any)
		s.path += "/template"
	} else if kind != "Pod" {
		return nil, nil
	}
	whole := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"], "spec": pod["spec"]}
	if kind == "Pod" {
		whole["status"] = pod["status"]
	}
	var err error
	if s.pod, err = json.Marshal(whole); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return []subject{s}, nil
}

// printable is text as it may be shown on a terminal: a file can say anything in the place of a name.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
