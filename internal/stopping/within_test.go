package stopping

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatEndsByItselfIsNotHurried(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		err  error
	}{{"well", nil}, {"with an error", broken}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := Within(t.Context(), time.Second, func(context.Context) error { time.Sleep(time.Hour); return c.err })
				if !errors.Is(err, c.err) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestWhatIsToldToStopGetsTheBoundAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		fails bool
		after time.Duration
	}{
		{"it stops at once", 0, false, 0},
		{"it stops in time", 2 * time.Second, false, 2 * time.Second},
		{"it does not stop in time", time.Hour, true, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, stop)
				begin := time.Now()
				err := Within(ctx, 3*time.Second, func(ctx context.Context) error { <-ctx.Done(); time.Sleep(c.takes); return nil })
				if failed := err != nil; failed != c.fails {
					t.Errorf("got %v", err)
				}
				if got := time.Since(begin) - time.Minute; got != c.after {
					t.Errorf("it was given %s, want %s", got, c.after)
				}
				time.Sleep(2 * time.Hour) // until what start began is over
			})
		})
	}
}
