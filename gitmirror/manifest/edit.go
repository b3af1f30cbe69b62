package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxWork bounds the bytes that one Edit parses: the document's size for each change that is left to make.
const maxWork = 32 << 20

// Edit returns file with changes made in its document number index, counted from 0. Every byte that no change names
// stays. Changes the document already means are skipped; where that leaves none, file itself is returned. The result has
// been read back: the document means what it meant plus the changes, and the other documents are the same bytes. It
// fails with ErrNoExactHome, naming the field, where a change cannot be written in one place.
func Edit(file []byte, index int, changes []Change) ([]byte, error) {
	chunks, err := split(file)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(chunks) {
		return nil, fmt.Errorf("the file has no document %d", index+1)
	}
	chunk, mark := bytes.CutPrefix(chunks[index], bom)
	text, err := editDocument(chunk, changes)
	if err != nil {
		return nil, err
	}
	if mark {
		text = append(bytes.Clone(bom), text...)
	}
	if bytes.Equal(text, chunks[index]) {
		return file, nil
	}
	edited := bytes.Join([][]byte{bytes.Join(chunks[:index], nil), text, bytes.Join(chunks[index+1:], nil)}, nil)
	after, err := split(edited)
	if err != nil {
		return nil, err
	}
	if len(after) != len(chunks) {
		return nil, errors.New("the edit would change the number of documents")
	}
	for i := range after {
		if i != index && !bytes.Equal(after[i], chunks[i]) {
			return nil, fmt.Errorf("the edit would change document %d", i+1)
		}
	}
	return edited, nil
}

// editDocument returns the text of one document with changes made, verified.
func editDocument(text []byte, changes []Change) ([]byte, error) {
	want, err := decode(text)
	if err != nil {
		return nil, err
	}
	work := 0
	for _, c := range changes {
		if err := checkPath(c.Path); err != nil {
			return nil, err
		}
		for _, c := range expand(want, c) {
			if work += len(text); work > maxWork {
				return nil, fmt.Errorf("%d changes are too many for a document of %d bytes", len(changes), len(text))
			}
			if _, err := apply(want, c, 0); err != nil {
				return nil, err
			}
			if text, err = splice(text, c); err != nil {
				return nil, err
			}
		}
	}
	if work == 0 {
		return text, nil
	}
	got, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the edited document back: %w", err)
	}
	// This reader, kustomize's, takes a key that overrides a merged one and refuses one that is there twice.
	if err := yaml.Unmarshal(text, &map[string]any{}); err != nil {
		return nil, fmt.Errorf("read the edited document back: %w", err)
	}
	if !sameValue(got, want) {
		return nil, noHome(changes[0].Path, "or a field changed with it would not mean what it should")
	}
	return text, nil
}

// checkPath refuses changes to what identifies a document.
func checkPath(p Path) error {
	switch {
	case len(p) == 0:
		return noHome(p, "the whole document")
	case p[0].Key == "apiVersion" || p[0].Key == "kind":
		return noHome(p, "says which object the document is")
	case p[0].Key == "metadata" && (len(p) == 1 || p[1].Key == "name" || p[1].Key == "namespace"):
		return noHome(p, "says which object the document is")
	}
	return nil
}

// splice returns text with the one change c made.
func splice(text []byte, c Change) ([]byte, error) {
	s, err := read(text)
	if err != nil {
		return nil, err
	}
	sp, err := s.locate(c.Path)
	if err != nil {
		return nil, err
	}
	var h hole
	switch {
	case c.Remove:
		h, err = s.remove(sp)
	case len(sp.rest) == 0:
		h, err = s.replace(sp, c.Value)
	default:
		h, err = s.add(sp, c)
	}
	if errors.Is(err, errPlace) {
		return nil, noHome(c.Path, "stands where "+err.Error())
	}
	if err != nil {
		return nil, err
	}
	return s.fill(h), nil
}

// spot is where a path leads in a document: the deepest node on it that exists.
type spot struct {
	path   Path       // as far as it exists
	rest   Path       // the steps that do not
	parent *yaml.Node // the collection node is in; nil for the root
	at     int        // node's place in parent.Content
	node   *yaml.Node
	above  *spot // parent's own spot
	flow   bool  // parent is inside brackets or braces, or has them
}

// locate follows p. It fails where p leads through an alias, an anchor, a merge key or a tagged collection: what is
// written there may count in several places.
func (s *source) locate(p Path) (*spot, error) {
	sp := &spot{node: s.root, flow: false}
	for i, step := range p {
		n := sp.node
		if n.Kind == yaml.AliasNode || n.Anchor != "" {
			return nil, noHome(p[:i+1], "is below an alias or an anchor")
		}
		if n.Kind != yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 {
			return nil, noHome(p[:i+1], "is below a tag")
		}
		at, err := find(n, step)
		if err != nil {
			return nil, noHome(p[:i+1], err.Error())
		}
		if at < 0 {
			sp.rest = p[i:]
			return sp, nil
		}
		sp = &spot{path: p[:i+1], parent: n, at: at, node: n.Content[at], above: sp, flow: sp.flow || flows(n)}
	}
	return sp, nil
}

// find returns where in n's content the value of step is, -1 when it is not there.
func find(n *yaml.Node, step Step) (int, error) {
	at := -1
	for i, e := range n.Content {
		var hit bool
		switch {
		case n.Kind == yaml.MappingNode && step.Name == "":
			hit = i%2 == 0 && e.Kind == yaml.ScalarNode && e.Value == step.Key
		case n.Kind == yaml.SequenceNode && step.Name != "":
			hit = scalar(child(e, "name")) == step.Name
		}
		if hit && at >= 0 {
			return 0, errors.New("is there twice")
		}
		if hit {
			at = i
		}
	}
	if at < 0 {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			switch key := n.Content[i]; {
			case key.ShortTag() == "!!merge":
				return 0, errors.New("is below a merge key")
			case key.Kind != yaml.ScalarNode, key.ShortTag() != "!!str", key.Style == 0 && words[strings.ToLower(key.Value)]:
				return 0, errors.New("is beside a key that is no text")
			}
		}
		return -1, nil
	}
	if n.Kind == yaml.MappingNode {
		at++
	}
	return at, nil
}

// anchored says whether n or anything in it has an anchor, which an alias elsewhere may need.
func anchored(n *yaml.Node) bool {
	if n.Anchor != "" {
		return true
	}
	if n.Kind == yaml.AliasNode {
		return false
	}
	for _, c := range n.Content {
		if anchored(c) {
			return true
		}
	}
	return false
}
