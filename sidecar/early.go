package main

import (
	"context"
	"errors"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

var errEarly = errors.New("the holder has not found its API server yet")

// early reads what the status is made from. Before it has become something it returns an error; the zero early has not.
type early struct {
	later atomic.Pointer[later]
}

type later struct {
	client.Reader
	leadership func() statuspage.Leadership
}

// become has early read from reader and ask leadership from now on.
func (e *early) become(reader client.Reader, leadership func() statuspage.Leadership) {
	e.later.Store(&later{reader, leadership})
}

func (e *early) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if l := e.later.Load(); l != nil {
		return l.Get(ctx, key, into, options...)
	}
	return errEarly
}

func (e *early) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if l := e.later.Load(); l != nil {
		return l.List(ctx, into, options...)
	}
	return errEarly
}

// leadership is that of nobody at first.
func (e *early) leadership() statuspage.Leadership {
	if l := e.later.Load(); l != nil {
		return l.leadership()
	}
	return statuspage.Leadership{}
}
