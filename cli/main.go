// Command holdfast is what a person asks of Holdfast at a terminal. It works with no other program of Holdfast running.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfast-gitops/holdfast/cli/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
