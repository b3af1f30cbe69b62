package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/version"
)

// Exit codes.
const (
	exitDone  = 0 // all that was asked for is so
	exitNot   = 1 // something is not
	exitUsage = 2 // it was not understood
)

// cluster says which cluster a command is about.
type cluster struct {
	kubeconfig string
	context    string
}

// Run carries out what args, without the program's name, ask for, and returns the exit code.
func Run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	var c cluster
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "What a person asks of Holdfast",
		Version:       version.Number(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate(version.Line("holdfast") + "\n")
	root.PersistentFlags().StringVar(&c.kubeconfig, "kubeconfig", "", "file that says how to reach the cluster (default: as kubectl finds it)")
	root.PersistentFlags().StringVar(&c.context, "context", "", "context of that file (default: its current one)")
	root.AddCommand(releaseCommand(&c), injectCommand())
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var failed failure
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &failed):
		fmt.Fprintln(errs, "holdfast:", err)
		return exitNot
	}
	fmt.Fprintf(errs, "holdfast: %v\nSee holdfast --help.\n", err)
	return exitUsage
}

// failure is an error of the work itself; any other is one of what was typed.
type failure struct{ error }

// Unwrap returns the error itself.
func (f failure) Unwrap() error { return f.error }

// client returns a client that reads and writes the API server itself, without a cache.
func (c cluster) client() (client.Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; name a file with --kubeconfig", err)
	}
	config.QPS = -1 // the API server's own fairness decides
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), kustomizev1.AddToScheme(scheme), sourcev1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	found, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return found, nil
}
