package leader

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAHeartbeatIsRenewedEveryTenSecondsAndGoneAfterRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().Build()
		h := heartbeat(t, c)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- h.Start(ctx) }()
		var lease coordinationv1.Lease
		for beat := range 3 {
			synctest.Wait()
			if err := c.Get(ctx, h.name, &lease); err != nil {
				t.Fatal(err)
			}
			if got := lease.Spec.RenewTime.UTC(); !got.Equal(time.Now().UTC()) {
				t.Errorf("beat %d: renewed at %s, and now is %s", beat, got, time.Now().UTC())
			}
			time.Sleep(renewEvery)
		}
		if lease.Labels[v1alpha1.HolderLabel] != "true" || *lease.Spec.HolderIdentity != "Pod-1" || *lease.Spec.LeaseDurationSeconds != 30 {
			t.Errorf("got %+v", lease)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for range 2 { // also when it is gone already
			if err := h.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := c.Get(t.Context(), h.name, &lease); !apierrors.IsNotFound(err) {
			t.Errorf("after the release: %v", err)
		}
	})
}

func TestARunOfFailedRenewalsIsLoggedOnceAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				if down.Load() {
					return errors.New("nobody answers")
				}
				return c.Apply(ctx, o, opts...)
			},
		}).Build()
		var said bytes.Buffer
		ctx, stop := context.WithCancel(logr.NewContextWithSlogLogger(t.Context(), slog.New(slog.NewTextHandler(&said, nil))))
		h := heartbeat(t, c)
		ended := make(chan error)
		go func() { ended <- h.Start(ctx) }()
		for _, is := range []bool{false, true, true, true, false, false, true} {
			synctest.Wait()
			down.Store(is)
			time.Sleep(renewEvery)
		}
		synctest.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := strings.Count(said.String(), "nobody answers"); n != 2 {
			t.Errorf("two runs of failures are logged %d times:\n%s", n, said.String())
		}
		if n := strings.Count(said.String(), "renewed again"); n != 1 {
			t.Errorf("one recovery is logged %d times:\n%s", n, said.String())
		}
	})
}

func TestAHeartbeatNeedsAnIdentityThatANameCanHold(t *testing.T) {
	for _, identity := range []string{"", "my_node", strings.Repeat("x", 254)} {
		if h, err := NewHeartbeat(nil, "flux-system", identity, time.Now); err == nil || !strings.Contains(err.Error(), "--identity") {
			t.Errorf("%q: got %v, %v", identity, h, err)
		}
	}
}

func heartbeat(t *testing.T, c client.Client) *Heartbeat {
	t.Helper()
	h, err := NewHeartbeat(c, "flux-system", "Pod-1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if h.Name() != "flux-system/holdfast-holder-pod-1" {
		t.Errorf("called %s", h.Name())
	}
	return h
}
