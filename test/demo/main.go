// Command demo shows one edit go all the way round, on a real API server with real Flux: from a person's kubectl into
// Git, and from Git back into the cluster, one recorded commit at a time. `make demo` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Getenv("ONCE") == "1")
	interrupted := err != nil && ctx.Err() != nil
	stop()
	switch {
	case interrupted:
		fmt.Println("\nThe demo was ended before its last step.")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "\nThe demo stopped: %v\n", err)
		os.Exit(1)
	}
}

// run starts the world, tells the story, and unless once keeps the world for the visitor until ctx is done.
func run(ctx context.Context, once bool) (err error) {
	fmt.Println("Holdfast demo: a real API server, real Flux, a real Git server, all on this machine's loopback.")
	fmt.Println("There is no kubelet: Deployments are recorded and scaled, no container runs, and nothing waits for health (wait: false).")
	w, err := cluster.Start(ctx, cluster.Options{Out: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	s := &story{ctx: ctx, world: w}
	if err := s.tell(); err != nil {
		return fmt.Errorf("%w\nlogs of the last moments:\n--- holder\n%s\n--- gitmirror\n%s",
			err, w.LogTail(cluster.Holder), w.LogTail(cluster.Gitmirror))
	}
	s.figures()
	if once {
		fmt.Println("\nAll steps held.")
		return nil
	}
	s.leaveRunning()
	<-ctx.Done()
	fmt.Println("\nStopping everything.")
	return nil
}

// step is one line of the figures at the end.
type step struct {
	name string
	took time.Duration
}
