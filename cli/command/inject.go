package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// injectFlags are what holdfast inject may be told.
type injectFlags struct {
	files     []string
	output    string
	namespace string
	policy    string
	image     string
}

// Forms of output.
const (
	outputPatch = "patch"
	outputYAML  = "yaml"
)

func injectCommand() *cobra.Command {
	var f injectFlags
	cmd := &cobra.Command{
		Use:   "inject -f FILE...",
		Short: "Show what the injector does to a pod, without a cluster",
		Long: `Reads pods and workloads and decides as the injector does. On standard output is the patch (RFC 6902), or every object with
the holders in it; on standard error a line for each pod says what was done to it, or why nothing was.

It asks no cluster: whether the namespace carries the label holdfast.dev/inject=enabled is not looked at.

Exit codes: 0 a pod gets its holder or has it, and none lacks one it should have; 1 otherwise, and the lines say why; 2 the command was
not understood.`,
		Example: `  holdfast inject -f kustomize-controller.yaml                         # the patch of each document
  flux install --export | holdfast inject -f - -o yaml --image registry.example/holdfast@sha256:DIGEST   # each object as it would be`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if len(f.files) == 0 {
				return errors.New("name a file with -f; - is standard input")
			}
			if f.output != outputPatch && f.output != outputYAML {
				return fmt.Errorf("-o %s: it is either %s or %s", f.output, outputPatch, outputYAML)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.run(cmd); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "file with pods or workloads, as YAML or JSON; - is standard input")
	cmd.Flags().StringVarP(&f.output, "output", "o", outputPatch, "patch: what is added; yaml: every object with it")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of objects that name none")
	cmd.Flags().StringVar(&f.policy, "policy", "", "file with the injector's policy (default: one that says nothing)")
	cmd.Flags().StringVar(&f.image, "image", "", "image of the holder (default: the policy's)")
	return cmd
}

func (f injectFlags) run(cmd *cobra.Command) error {
	policy, err := f.readPolicy()
	if err != nil {
		return err
	}
	var all []manifest
	for _, name := range f.files {
		found, err := read(name, cmd.InOrStdin())
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	r := injection{flags: f, policy: policy, out: cmd.OutOrStdout(), errs: cmd.ErrOrStderr()}
	for _, m := range all {
		if err := r.take(m); err != nil {
			return err
		}
	}
	switch {
	case r.pods == 0:
		return errors.New("there is no pod and no workload in it")
	case r.lacking > 0:
		return fmt.Errorf("%d of %d get no holder and should have one", r.lacking, r.pods)
	case r.held == 0:
		return errors.New("no pod in it gets a holder")
	}
	return nil
}

// readPolicy returns what the flags say, or what holds without them.
func (f injectFlags) readPolicy() (inject.Policy, error) {
	p := inject.DefaultPolicy()
	if f.policy != "" {
		text, err := readFile(f.policy)
		if err != nil {
			return p, fmt.Errorf("read the policy %s: %w", f.policy, err)
		}
		if p, err = inject.ParsePolicy(text); err != nil {
			return p, fmt.Errorf("%s: %w", f.policy, err)
		}
	}
	if f.image == "" {
		return p, nil
	}
	text, err := json.Marshal(map[string]string{"image": f.image})
	if err != nil {
		return p, err
	}
	if _, err := inject.ParsePolicy(text); err != nil {
		return p, fmt.Errorf("--image: %w", err)
	}
	p.Image = f.image
	return p, nil
}

// read returns what a file says.
func read(name string, stdin io.Reader) ([]manifest, error) {
	var text []byte
	var err error
	if name == "-" {
		name = "standard input"
		text, err = readAll(stdin)
	} else {
		text, err = readFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	all, err := readManifests(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return all, nil
}
