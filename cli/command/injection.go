package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// injection goes through manifests, prints what becomes of them, and counts.
type injection struct {
	flags     injectFlags
	policy    inject.Policy
	out, errs io.Writer

	written int // documents on out
	pods    int // of them
	held    int // get a holder or have one
	lacking int // should have one, and get none
}

// take prints what becomes of one manifest.
func (r *injection) take(m manifest) error {
	subjects, err := m.subjects()
	if err != nil {
		return err
	}
	var patch []inject.Operation
	for _, s := range subjects {
		if s.namespace == "" {
			s.namespace = r.flags.namespace
		}
		// A file says nothing of the LimitRanges and quotas where it is applied.
		result, err := inject.Inject(s.pod, s.namespace, r.policy, inject.Room{})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		r.count(result)
		r.tell(s, result)
		for _, op := range result.Patch {
			op.Path = s.path + op.Path
			patch = append(patch, op)
		}
	}
	if r.flags.output == outputYAML {
		return r.writeObject(m, patch)
	}
	if patch == nil {
		return nil
	}
	return r.writePatch(patch)
}

func (r *injection) count(result inject.Result) {
	r.pods++
	switch {
	case result.Skip == "", result.Skip == inject.SkipAlreadyInjected:
		r.held++
	case result.Skip.Missing():
		r.lacking++
	}
}

// tell says what became of a pod.
func (r *injection) tell(s subject, result inject.Result) {
	if result.Skip == "" {
		fmt.Fprintf(r.errs, "%s: %s\n", s.name, printable(result.Why))
	} else {
		fmt.Fprintf(r.errs, "%s: left as it is (%s): %s\n", s.name, result.Skip, printable(result.Why))
	}
	for _, w := range result.Warnings {
		fmt.Fprintf(r.errs, "%s: warning: %s\n", s.name, printable(w))
	}
}

// writePatch prints a patch as JSON.
func (r *injection) writePatch(patch []inject.Operation) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(patch); err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return r.write(text.Bytes())
}

// writeObject prints a manifest with the patch in it; one that is not patched is printed as it was read.
func (r *injection) writeObject(m manifest, patch []inject.Operation) error {
	if patch == nil {
		return r.write(m.text)
	}
	object, err := json.Marshal(m.tree)
	if err != nil {
		return fmt.Errorf("write the object: %w", err)
	}
	operations, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	decoded, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		return fmt.Errorf("read the patch: %w", err)
	}
	if object, err = decoded.Apply(object); err != nil {
		return fmt.Errorf("apply the patch: %w", err)
	}
	text, err := yaml.JSONToYAML(object)
	if err != nil {
		return fmt.Errorf("write the object: %w", err)
	}
	return r.write(text)
}

// write prints one document, parted from the one before.
func (r *injection) write(text []byte) error {
	if r.written++; r.written > 1 {
		if _, err := fmt.Fprintln(r.out, "---"); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(r.out, "%s\n", bytes.TrimRight(text, "\n"))
	return err
}
