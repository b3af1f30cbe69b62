// Command cluster starts a whole world on loopback, prints how to use it and keeps it until it is interrupted. With
// -build it only fills the cache of programs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

func main() {
	buildOnly := flag.Bool("build", false, "build the programs into the cache and end")
	withoutFlux := flag.Bool("without-flux", false, "start only the control plane and Git")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *buildOnly, *withoutFlux)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // what was interrupted needs no words
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, buildOnly, withoutFlux bool) error {
	if buildOnly {
		return cluster.Build(ctx, os.Stderr)
	}
	w, err := cluster.Start(ctx, cluster.Options{WithoutFlux: withoutFlux})
	if err != nil {
		return err
	}
	err = w.Git.AddRepo(ctx, "app", map[string]string{"README.md": "Put manifests here.\n"})
	if err != nil {
		return errors.Join(err, w.Stop())
	}
	describe(os.Stdout, w)
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "stopping")
	return w.Stop()
}

// describe prints what a person needs to use the world.
func describe(out io.Writer, w *cluster.World) {
	for _, p := range w.Timings() {
		fmt.Fprintf(out, "%-24s %6.1fs\n", p.Name, p.Took.Seconds())
	}
	fmt.Fprintln(out, "\nOne of these is who you are:")
	for _, user := range cluster.Users() {
		fmt.Fprintf(out, "  export KUBECONFIG=%s\n", w.Kubeconfig(user))
	}
	fmt.Fprintf(out, "kubectl   %s\nlogs      %s\n", w.KubectlPath(), w.LogDir())
	fmt.Fprintf(out, "git       %s\n", w.Git.URL("app"))
	for _, user := range []string{cluster.GitHoldfast, cluster.GitBob, cluster.GitFlux} {
		fmt.Fprintf(out, "  user %-10s password %s\n", user, w.Git.Password(user))
	}
	fmt.Fprintln(out, "\nThere is no node: Deployments make ReplicaSets, no Pod runs. Press Ctrl-C to end.")
}
