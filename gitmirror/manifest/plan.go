package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ErrKustomizeFolder says that a folder is built by kustomize, where a document is not what is applied; the wrapping
// error names the file. Nothing is written to such a folder.
var ErrKustomizeFolder = errors.New("the folder is built by kustomize; point the GitTarget at a folder of plain manifests")

// ErrUnreadable is what a Tree wraps when it does not show a file, such as a very large one: what is in it counts as
// unknown, and the rest of the folder goes on.
var ErrUnreadable = errors.New("the file cannot be read")

// errLink is why what an Other says is not known.
var errLink = errors.New("it is a symbolic link or a submodule, which is not followed")

// maxFiles bounds the files of one folder.
const maxFiles = 100_000

// File is one file of a folder.
type File struct {
	Path string // from the repository's root, with slashes
	Hash string // of its blob; empty when unknown, and then nothing is remembered about it
	// Other is true for what is no regular file, such as a symbolic link: it takes its path, and is never read or written.
	Other bool
}

// Tree is the state of the repository a plan is made on.
type Tree interface {
	// Files returns the files under the folder of the plan, and never what is behind a symbolic link.
	Files() ([]File, error)
	// Read returns the content of a regular one of Files. ErrUnreadable leaves that file out of the plan.
	Read(path string) ([]byte, error)
}

// Intent is what should become true of one object in Git.
type Intent struct {
	Object   Identity
	Resource string // plural name, for the path of a new file
	Changes  []Change
	Whole    map[string]any // the sanitized object, for a new file
	Create   bool           // make a new file where the object has no document
	Made     bool           // the object was just made in the cluster, so a document it has already should say Whole
	Gone     bool           // the object was deleted in the cluster; nothing else but Object matters then
}

// Refusal is an intent that was not written, and why, for a person to read.
type Refusal struct {
	Object Identity
	Reason string
}

// Result is what to commit.
type Result struct {
	Files   map[string][]byte // new content by path from the repository's root
	Written []Identity        // objects whose document changed, in the order of the intents
	Refused []Refusal
}

// Plan returns the files that make intents true in folder, "." for the repository's root. Intents take effect in order, also on
// one document. An object whose document already says so is neither written nor refused. Where the object has a
// document only Changes are written, also with Create: what Git says beyond them stays. An object that cannot be written
// is refused and the others go on. It fails with ErrKustomizeFolder, on a folder outside the repository, and when t does.
func (ix *Index) Plan(folder string, t Tree, intents []Intent) (Result, error) {
	p, err := ix.survey(folder, t)
	if err != nil {
		return Result{}, fmt.Errorf("plan folder %s: %w", folder, err)
	}
	result := Result{Files: map[string][]byte{}}
	for _, in := range intents {
		file, text, err := p.carryOut(in)
		var r refusal
		switch {
		case errors.As(err, &r):
			result.Refused = append(result.Refused, Refusal{Object: in.Object, Reason: string(r)})
		case err != nil:
			return Result{}, fmt.Errorf("plan folder %s: %w", folder, err)
		case text != nil:
			result.Files[file], p.edited[file] = text, text
			if !slices.Contains(result.Written, in.Object) {
				result.Written = append(result.Written, in.Object)
			}
		}
	}
	return result, nil
}

// refusal is an error that concerns one object only.
type refusal string

func (r refusal) Error() string { return string(r) }

// place is where a document is.
type place struct {
	file string
	Document
}

// plan is what is known about a folder while intents are carried out.
type plan struct {
	folder     string
	tree       Tree
	places     map[Identity][]place // by identity without version
	unreadable map[string]error     // files whose documents are not known
	spelling   map[string]string    // every path and folder by its lower case
	files      map[string]bool
	edited     map[string][]byte
}

// survey reads the folder's files, or remembers them.
func (ix *Index) survey(folder string, t Tree) (*plan, error) {
	folder, err := cleanFolder(folder)
	if err != nil {
		return nil, err
	}
	files, err := t.Files()
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	if len(files) > maxFiles {
		return nil, fmt.Errorf("more than %d files", maxFiles)
	}
	p := &plan{folder: folder, tree: t, places: map[Identity][]place{}, unreadable: map[string]error{},
		spelling: make(map[string]string, len(files)), files: make(map[string]bool, len(files)), edited: map[string][]byte{}}
	for _, f := range files {
		switch path.Base(f.Path) {
		case "kustomization.yaml", "kustomization.yml", "Kustomization":
			return nil, fmt.Errorf("%s: %w", f.Path, ErrKustomizeFolder)
		}
	}
	for _, f := range files {
		p.spell(f.Path)
		switch path.Ext(f.Path) {
		case ".yaml", ".yml", ".json":
		default:
			continue
		}
		if f.Other {
			p.unreadable[f.Path] = errLink
			continue
		}
		s, err := ix.scan(t, f)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Path, err)
		}
		if s.err != nil {
			p.unreadable[f.Path] = s.err
		}
		for _, d := range s.docs {
			key := d.unversioned()
			p.places[key] = append(p.places[key], place{file: f.Path, Document: d})
		}
	}
	return p, nil
}

// spell remembers file, and how it and its folders are spelled.
func (p *plan) spell(file string) {
	p.files[file] = true
	for at := file; at != "." && at != "/"; at = path.Dir(at) {
		lower := strings.ToLower(at)
		if _, known := p.spelling[lower]; known {
			return
		}
		p.spelling[lower] = at
	}
}

// carryOut returns the file that makes in true and its new text, nil when nothing is left to write.
func (p *plan) carryOut(in Intent) (string, []byte, error) {
	if in.Object.Group == "" && in.Object.Kind == "Secret" {
		return "", nil, refusal("a Secret is never written unencrypted")
	}
	at, found, err := p.find(in.Object)
	if err != nil {
		return "", nil, err
	}
	switch {
	case !found && in.Gone:
		return "", nil, nil
	case !found:
		return p.create(in)
	case in.Gone:
		return "", nil, refusal(fmt.Sprintf("it was deleted in the cluster and its document stays in %s, so the next apply makes it again; "+
			"delete the document to keep it away", at.file))
	case at.Sealed:
		return "", nil, refusal(fmt.Sprintf("%s is encrypted by SOPS; edit it with sops", at.file))
	case at.Listed:
		return "", nil, refusal(fmt.Sprintf("it is an item of a List in %s; give it a document of its own", at.file))
	}
	text, ok := p.edited[at.file]
	if !ok {
		if text, err = p.tree.Read(at.file); err != nil {
			return "", nil, fmt.Errorf("read %s: %w", at.file, err)
		}
	}
	if in.Made && !says(text, at.Index, in.Whole) {
		return "", nil, refusal(fmt.Sprintf("it was made in the cluster while %s has a document of it that says something else; "+
			"make the two agree by editing either", at.file))
	}
	after, err := Edit(text, at.Index, in.Changes)
	if err != nil {
		return "", nil, refusal(fmt.Sprintf("%s: %v", at.file, err))
	}
	if bytes.Equal(after, text) {
		return "", nil, nil
	}
	return at.file, after, nil
}

// says reports whether the document says exactly what whole does, by meaning.
func says(text []byte, index int, whole map[string]any) bool {
	chunks, err := split(text)
	if err != nil || index >= len(chunks) {
		return false
	}
	doc, err := decode(chunks[index])
	return err == nil && sameMeaning(nil, any(Sanitize(doc)), any(whole))
}

// find returns the one document of id. A document without a namespace is taken for one in any, unless another says
// exactly which.
func (p *plan) find(id Identity) (place, bool, error) {
	key := id.unversioned()
	places := p.places[key]
	if len(places) == 0 {
		key.Namespace = ""
		places = p.places[key]
	}
	switch len(places) {
	case 0:
		return place{}, false, nil
	case 1:
		return places[0], true, nil
	}
	return place{}, false, refusal(fmt.Sprintf("it has a document in %s and another in %s; keep one", places[0].file, places[1].file))
}

// create returns the new file of an object that has no document.
func (p *plan) create(in Intent) (string, []byte, error) {
	if len(p.unreadable) > 0 {
		return "", nil, p.refuseUnreadable()
	}
	if !in.Create {
		return "", nil, refusal("it has no document in this folder; make one there to have its edits kept")
	}
	file, err := NewFilePath(p.folder, in.Object, in.Resource)
	if err != nil {
		return "", nil, refusal(err.Error())
	}
	for at := file; at != "."; at = path.Dir(at) {
		switch known, ok := p.spelling[strings.ToLower(at)]; {
		case ok && known != at:
			return "", nil, refusal(fmt.Sprintf("%s would differ from %s only in case", at, known))
		case p.files[at]:
			return "", nil, refusal(fmt.Sprintf("%s exists and is not its document; move or remove that file", at))
		}
	}
	text, err := Render(in.Whole)
	if err != nil {
		return "", nil, refusal(err.Error())
	}
	docs, err := Scan(text)
	if err != nil {
		return "", nil, refusal(err.Error())
	}
	if len(docs) != 1 || docs[0].unversioned() != in.Object.unversioned() || docs[0].Sealed {
		return "", nil, refusal("its state is not the object it should be")
	}
	key := docs[0].unversioned()
	p.places[key] = append(p.places[key], place{file: file, Document: docs[0]})
	p.spell(file)
	return file, text, nil
}

// refuseUnreadable names the first file that may hold the object's document.
func (p *plan) refuseUnreadable() error {
	var names []string
	for f := range p.unreadable {
		names = append(names, f)
	}
	first := slices.Min(names)
	return refusal(fmt.Sprintf("its document may be in %s, which cannot be read: %v", first, p.unreadable[first]))
}
