package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/internal/applier/flux"
)

// releaseFlags are what holdfast release may be told.
type releaseFlags struct {
	all     bool
	yes     bool
	dryRun  bool
	timeout time.Duration
	within  time.Duration
}

func releaseCommand(c *cluster) *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release (NAMESPACE/NAME... | --all)",
		Short: "Hand Kustomizations back to Flux, with or without Holdfast running",
		Long: `Deletes FluxTriggers and sees to it that the Kustomizations they hold are handed back: each applies on its own again.
A holder that runs does it; when none answers, this command does the same with your own permissions. It can be run again at
any time. A GitTarget that names a trigger goes on writing Git, and no longer has anything applied.

Exit codes: 0 all are handed back, 1 one is not, 2 the command was not understood.`,
		Example: `  holdfast release team-a/app           # one trigger
  holdfast release --all --dry-run      # what would be done
  holdfast release --all --yes          # everything, and what was left behind by triggers that are gone
  holdfast release --all --yes --within=4m   # the same, for a program that does not wait for ever`,
		Args: func(_ *cobra.Command, args []string) error { return f.check(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.run(cmd, *c, args); err != nil {
				return failure{err}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.all, "all", false, "every trigger, and every Kustomization that a trigger left behind")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask before --all")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and do nothing")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long a holder that runs may take for one Kustomization before this does it")
	cmd.Flags().DurationVar(&f.within, "within", 0, "how long everything may take; what is not handed back by then is named (default: as long as it takes)")
	return cmd
}

// check says what is wrong with the arguments.
func (f releaseFlags) check(args []string) error {
	switch {
	case f.all && len(args) > 0:
		return errors.New("--all and names exclude each other")
	case !f.all && len(args) == 0:
		return errors.New("name triggers as NAMESPACE/NAME, or say --all")
	case f.timeout <= 0:
		return errors.New("--timeout must be longer than 0s")
	case f.within < 0:
		return errors.New("--within cannot be shorter than 0s")
	}
	for _, a := range args {
		if _, err := parse(a); err != nil {
			return err
		}
	}
	return nil
}

// parse reads NAMESPACE/NAME.
func parse(arg string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(arg, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, fmt.Errorf("%q is not NAMESPACE/NAME", arg)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func (f releaseFlags) run(cmd *cobra.Command, c cluster, args []string) error {
	reach, err := c.client()
	if err != nil {
		return err
	}
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if f.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.within, fmt.Errorf("it was not done within %s", f.within))
		defer cancel()
	}
	r := &releaser{client: reach, applier: flux.New(reach), timeout: f.timeout, now: time.Now}
	var work []held
	if f.all {
		work, err = r.everything(ctx)
	} else {
		work, err = r.named(ctx, args)
	}
	if err != nil {
		return err
	}
	if f.dryRun {
		return r.preview(out, work)
	}
	if !f.all {
		return r.handBackAll(ctx, out, work)
	}
	if len(work) > 0 && !f.yes {
		if err := confirmed(cmd.InOrStdin(), cmd.ErrOrStderr(), len(work)); err != nil {
			return err
		}
	}
	return r.untilNothingIsHeld(ctx, out, work)
}

// confirmed asks the person at the terminal in, and returns an error unless the answer is yes. Where there is no terminal
// nobody can answer, and whatever is piped in is none.
func confirmed(in io.Reader, out io.Writer, n int) error {
	f, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) { //nolint:gosec // a file descriptor fits
		return fmt.Errorf("nothing was handed back: there are %d, and no terminal to ask at; say --yes, or --dry-run to see them", n)
	}
	fmt.Fprintf(out, "Hand back all %d? Flux applies each of them again on its own. [y/N] ", n)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !yes(answer) {
		return errors.New("nothing was handed back")
	}
	return nil
}

func yes(answer string) bool { return strings.EqualFold(strings.TrimSpace(answer), "y") }
