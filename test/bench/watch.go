package main

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// cycleBound is for one cycle on a busy machine.
const cycleBound = 2 * time.Minute

// sight is an object as a watch delivered it, and when.
type sight struct {
	at  time.Time
	obj client.Object
	err error // why there are no more
}

// eye sees every state of a team's GitRepository, Kustomization and FluxTrigger, in the order of its watches.
type eye struct{ sights chan sight }

// openEye watches until ctx ends. The states there are now come first.
func openEye(ctx context.Context, w *cluster.World, t *scene.Team) (*eye, error) {
	c, err := watcher(w)
	if err != nil {
		return nil, err
	}
	e := &eye{sights: make(chan sight, 1024)}
	flux := client.MatchingFields{"metadata.name": t.Name}
	for _, kind := range []struct {
		list client.ObjectList
		opts []client.ListOption
	}{
		{&sourcev1.GitRepositoryList{}, []client.ListOption{client.InNamespace(cluster.FluxNamespace), flux}},
		{&kustomizev1.KustomizationList{}, []client.ListOption{client.InNamespace(cluster.FluxNamespace), flux}},
		{&v1alpha1.FluxTriggerList{}, []client.ListOption{client.InNamespace(t.Name)}},
	} {
		stream, err := c.Watch(ctx, kind.list, kind.opts...)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind.list, err)
		}
		go e.forward(ctx, stream)
	}
	return e, nil
}

// watcher is the administrator's client that can watch.
func watcher(w *cluster.World) (client.WithWatch, error) {
	scheme, err := cluster.Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(w.RESTConfig(cluster.Admin), client.Options{Scheme: scheme})
}

// forward stamps what the stream brings with the time of its arrival.
func (e *eye) forward(ctx context.Context, stream watch.Interface) {
	defer stream.Stop()
	for event := range stream.ResultChan() {
		s := sight{at: time.Now()}
		if obj, ok := event.Object.(client.Object); ok {
			s.obj = obj
		} else {
			s.err = fmt.Errorf("a watch brought %v", event.Object)
		}
		select {
		case e.sights <- s:
		case <-ctx.Done():
			return
		}
	}
	select {
	case e.sights <- sight{err: fmt.Errorf("the API server ended a watch")}:
	case <-ctx.Done():
	}
}

// await shows each sight to done until that is satisfied, and returns when the sight that did it arrived.
func (e *eye) await(ctx context.Context, what string, done func(sight) bool) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cycleBound, fmt.Errorf("not within %s", cycleBound))
	defer cancel()
	for {
		select {
		case s := <-e.sights:
			if s.err != nil {
				return time.Time{}, fmt.Errorf("wait until %s: %w", what, s.err)
			}
			if done(s) {
				return s.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("wait until %s: %w", what, context.Cause(ctx))
		}
	}
}

// forget drops what was seen and not looked at, so that a measurement begins with what is new.
func (e *eye) forget() {
	for {
		select {
		case s := <-e.sights:
			if s.err != nil {
				e.sights <- s // it still ends the next wait
				return
			}
		default:
			return
		}
	}
}
