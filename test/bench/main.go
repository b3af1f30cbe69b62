package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

func main() {
	rounds := flag.Int("rounds", 0, "rounds of each comparison; 0: 15 of a cycle with 1 object, 8 with 100, 20 of an edit, 8 of a crowd, 6 of pods")
	only := flag.String("only", "", "measure only this: edit, cycle, crowd, pods or idle")
	held := flag.Int("held", 500, "Kustomizations that one holder holds; it is compared with a tenth of them")
	atOnce := flag.Int("at-once", 20, "operations at once")
	flag.Parse()
	if !slices.Contains([]string{"", "edit", "cycle", "crowd", "pods", "idle"}, *only) || *rounds < 0 || *held < 20 || *atOnce < 2 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *only, &bench{rounds: *rounds, held: *held, atOnce: *atOnce})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nThe benchmark stopped: %v\n", err)
		os.Exit(1)
	}
}

// bench is one run in one world.
type bench struct {
	world  *cluster.World
	audit  *sink // takes the audit events while gitmirror does not run
	rounds int   // 0: as many as each comparison has on its own
	held   int   // Kustomizations that one holder holds
	atOnce int   // operations at once
	table  table
}

// run measures what only names, or everything, as b says, and prints the table.
func run(ctx context.Context, only string, b *bench) (err error) {
	w, err := cluster.Start(ctx, cluster.Options{Out: os.Stdout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Stop()) }()
	b.world = w
	if b.audit, err = openSink(w); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.audit.close()) }()

	// Edits come first: gitmirror runs for them alone, and would ask for applies of everything that is held later. Idle comes
	// last: it has the API server log requests, and leaves hundreds of Kustomizations.
	for _, part := range []struct {
		name    string
		measure func(context.Context) error
	}{{"edit", b.edits}, {"cycle", b.cycles}, {"crowd", b.crowd}, {"pods", b.podCreations}, {"idle", b.idle}} {
		if only != "" && only != part.name {
			continue
		}
		begin := time.Now()
		if err := part.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w\nlogs of the last moments:\n--- holder\n%s\n--- gitmirror\n%s",
				part.name, err, w.LogTail(cluster.Holder), w.LogTail(cluster.Gitmirror))
		}
		say("%s: done in %s", part.name, time.Since(begin).Round(time.Second))
	}
	b.table.print(os.Stdout)
	return nil
}

// roundsOr is how many rounds a comparison has that takes n unless the visitor said otherwise.
func (b *bench) roundsOr(n int) int {
	if b.rounds > 0 {
		return b.rounds
	}
	return n
}

// say prints one line of progress.
func say(format string, args ...any) {
	fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
