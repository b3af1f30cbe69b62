package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-gitops/holdfast/injector/webhook"
)

func TestCallsAreAnsweredForAWhileAfterTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, stop := context.WithCancel(t.Context())
		var drain webhook.Drain
		ctx := draining(told, &drain, 5*time.Second)
		synctest.Wait()
		if drain.Begun() || ctx.Err() != nil {
			t.Fatal("it stops before it is told to")
		}
		stop()
		time.Sleep(5*time.Second - time.Nanosecond) // of the bubble's clock
		if !drain.Begun() || ctx.Err() != nil {
			t.Errorf("draining is %v and the end %v, while calls should still be answered", drain.Begun(), ctx.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it never ends")
		}
	})
}
