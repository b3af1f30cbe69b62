// Command node brings up a node by hand, with Flux in it unless -flux=false, prints how to use it and waits for Ctrl-C.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/node"
)

func main() {
	flux := flag.Bool("flux", true, "run Flux in the node")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *flux)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

// run returns once ctx has ended and the node is stopped.
func run(ctx context.Context, flux bool) error {
	n, err := node.Start(ctx, node.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if err := n.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "node:", err)
		}
	}()
	if flux {
		if err := n.InstallFlux(ctx); err != nil {
			return err
		}
	}
	for _, p := range n.Timings() {
		fmt.Printf("%6.1fs  %s\n", p.Took.Round(100*time.Millisecond).Seconds(), p.Name)
	}
	fmt.Printf("\nexport KUBECONFIG=%s\nkubectl: %s\nlogs:    %s\n\nCtrl-C ends it.\n",
		n.World.Kubeconfig(cluster.Admin), n.World.KubectlPath(), n.World.LogDir())
	<-ctx.Done()
	return nil
}
