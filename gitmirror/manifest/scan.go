package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is read from Git, where anybody may have put anything.
const (
	maxFileBytes = 1 << 20
	maxDocuments = 1000 // in one file
)

// Document is one Kubernetes object written in a file.
type Document struct {
	Identity
	Index  int  // its place among all documents of the file, for Edit
	Sealed bool // encrypted by SOPS: a plain edit would break its seal
	Listed bool // an item of a List, which has no document of its own
}

// Scan returns the Kubernetes objects of a YAML or JSON file. Documents that are none, and those without a name, are
// left out. It fails on a file that is too big, is no UTF-8 or does not parse, such as a Helm template.
func Scan(file []byte) ([]Document, error) {
	chunks, err := split(file)
	if err != nil {
		return nil, err
	}
	var docs []Document
	for i, c := range chunks {
		root, err := parseNode(c)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if root == nil || root.Kind != yaml.MappingNode {
			continue
		}
		found, err := identify(root)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		for _, d := range found {
			d.Index = i
			docs = append(docs, d)
		}
		if len(docs) > maxDocuments {
			return nil, fmt.Errorf("more than %d objects in one file", maxDocuments)
		}
	}
	return docs, nil
}

// split cuts a file before each line that begins a document. Joined, the chunks are the file. YAML allows a line that
// begins with "---" nowhere else, not even in a string, so lines suffice.
func split(file []byte) ([][]byte, error) {
	switch {
	case len(file) > maxFileBytes:
		return nil, fmt.Errorf("the file is bigger than %d bytes", maxFileBytes)
	case !utf8.Valid(file):
		return nil, errors.New("the file is not UTF-8")
	}
	var chunks [][]byte
	// Directives stand before the line that begins their document, and before any content.
	start, content, directives := 0, false, false
	for at := 0; at < len(file); {
		line := file[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		text := bytes.TrimPrefix(line, bom)
		switch {
		case begins(text):
			if at > start && !directives {
				chunks, start = append(chunks, file[start:at]), at
			}
			content, directives = true, false
		case !content && bytes.HasPrefix(text, []byte("%")):
			directives = true
		case !blank(text):
			content = true
		}
		at += len(line)
	}
	chunks = append(chunks, file[start:])
	if len(chunks) > maxDocuments {
		return nil, fmt.Errorf("more than %d documents in one file", maxDocuments)
	}
	return chunks, nil
}

var bom = []byte("\uFEFF")

// begins says whether line is one that begins a document.
func begins(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// blank says whether line holds nothing but white space or a comment.
func blank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// parseNode returns the root of one document, nil for an empty one; text behind the document is an error. Aliases are
// not expanded, so the cost is bounded by the text.
func parseNode(chunk []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(chunk, bom)))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the end of the document")
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// identify returns the object root is, or the items of a List; nothing when it is no Kubernetes object.
func identify(root *yaml.Node) ([]Document, error) {
	id, ok, err := identityOf(root)
	if err != nil || !ok {
		return nil, err
	}
	sops := child(root, "sops")
	sealed := sops != nil && child(sops, "mac") != nil
	items := child(root, "items")
	if !strings.HasSuffix(id.Kind, "List") || items == nil || items.Kind != yaml.SequenceNode {
		if id.Name == "" {
			return nil, nil
		}
		return []Document{{Identity: id, Sealed: sealed}}, nil
	}
	var docs []Document
	for _, item := range items.Content {
		id, ok, err := identityOf(item)
		if err != nil {
			return nil, err
		}
		if ok && id.Name != "" {
			docs = append(docs, Document{Identity: id, Sealed: sealed, Listed: true})
		}
		if len(docs) > maxDocuments {
			return nil, fmt.Errorf("more than %d items in one List", maxDocuments)
		}
	}
	return docs, nil
}

var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,62}$`)

// identityOf reads apiVersion, kind and metadata; ok is false for what is no Kubernetes object. A name that is no scalar
// is an unquoted template, and an error: what the file holds cannot be known.
func identityOf(n *yaml.Node) (id Identity, ok bool, err error) {
	apiVersion, kind := scalar(child(n, "apiVersion")), scalar(child(n, "kind"))
	if apiVersion == "" || len(apiVersion) > 253+64 || !kindName.MatchString(kind) {
		return Identity{}, false, nil
	}
	id.Kind, id.Version = kind, apiVersion
	if group, version, found := strings.Cut(apiVersion, "/"); found {
		id.Group, id.Version = group, version
	}
	meta := child(n, "metadata")
	for key, into := range map[string]*string{"name": &id.Name, "namespace": &id.Namespace} {
		v := resolve(child(meta, key))
		switch {
		case v == nil:
		case v.Kind != yaml.ScalarNode:
			return Identity{}, false, fmt.Errorf("metadata.%s of a %s is not a string", key, kind)
		case len(v.Value) > 253:
			return Identity{}, false, fmt.Errorf("metadata.%s of a %s is longer than 253 characters", key, kind)
		case v.ShortTag() != "!!null":
			*into = v.Value
		}
	}
	return id, true, nil
}

// child returns the value of key in a mapping, nil when there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			return n.Content[i+1]
		}
	}
	return nil
}

// resolve returns what an alias stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// scalar returns the text of a scalar, empty for anything else.
func scalar(n *yaml.Node) string {
	if n = resolve(n); n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
