package stopping

import (
	"context"
	"fmt"
	"time"
)

// Within runs start until it returns, and returns what it returns. Once ctx has ended, start gets bound to return; then
// Within gives up on it and returns an error, and what start began may still run.
//
// It is for a manager of controller-runtime, which never returns when it is told to stop before its caches are filled: it
// waits for them, and spins meanwhile (v0.25.2, pkg/manager/runnable_group.go, Start). A program that lacks a right or finds no
// API server would be killed at the end of its pod's grace period, and keep a processor busy until then.
func Within(ctx context.Context, bound time.Duration, start func(context.Context) error) error {
	returned := make(chan error, 1)
	go func() { returned <- start(ctx) }()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case err := <-returned:
		return err
	case <-timer.C:
		return fmt.Errorf("it had not stopped %s after it was told to: it may not have started before", bound)
	}
}
