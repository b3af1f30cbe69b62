package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-gitops/holdfast/test/scene"
)

const (
	idleTeam = "bench-idle"
	idleFor  = time.Minute
)

// standing is what a holder costs that has nothing to do.
type standing struct {
	triggers int
	requests float64 // in idleFor
	what     string  // the requests, by method and code
	toHeld   time.Duration
	cpu      time.Duration // in idleFor
	resident float64       // bytes
}

// idle counts the holder's requests at 50 and at 500 held Kustomizations.
func (b *bench) idle(ctx context.Context) error {
	team, err := scene.New(ctx, b.world, scene.Options{Name: idleTeam, NoHold: true, Files: scene.ConfigMaps(idleTeam, 1, "0")})
	if err != nil {
		return err
	}
	few, err := b.standing(ctx, team, 0, 50)
	if err != nil {
		return err
	}
	many, err := b.standing(ctx, team, 50, 500)
	if err != nil {
		return err
	}
	verdict := "met"
	if many.requests > few.requests {
		verdict = "MISSED"
	}
	b.table.add(fmt.Sprintf("API requests of an idle holder: %.0f a minute at %d held, %.0f at %d (goal: equal: %s)",
		few.requests, few.triggers, many.requests, many.triggers, verdict), few.String(), many.String())
	return nil
}

func (s standing) String() string {
	text := fmt.Sprintf("%d held: %s from the holder's start until all are held, %.0f MiB resident, %s CPU time in the idle minute",
		s.triggers, s.toHeld.Round(time.Millisecond), s.resident/(1<<20), ms(s.cpu))
	if s.what != "" {
		text += "; requests: " + s.what
	}
	return text
}

// standing adds triggers from the number had to n while no holder runs, starts one, and watches it hold them and be idle.
func (b *bench) standing(ctx context.Context, team *scene.Team, had, n int) (standing, error) {
	s := standing{triggers: n}
	say("idle: making %d triggers", n-had)
	if err := addTriggers(ctx, team, had, n); err != nil {
		return s, err
	}
	say("idle: starting the holder")
	var last time.Time
	all := make(chan error, 1)
	go func() {
		at, err := b.awaitHeld(ctx, n)
		last = at
		all <- err
	}()
	if err := b.world.StartHolder(ctx); err != nil {
		return s, err
	}
	if err := <-all; err != nil {
		return s, err
	}
	before, err := b.quiet(ctx)
	if err != nil {
		return s, err
	}
	began := before.sum(startSeconds)
	s.toHeld = max(0, last.Sub(time.UnixMilli(int64(began*1000))))
	say("idle: %d held after %s; counting requests for %s", n, s.toHeld.Round(time.Millisecond), idleFor)
	if err := pause(ctx, idleFor); err != nil {
		return s, err
	}
	after, err := readMetrics(ctx, b.world.HolderStatusURL())
	if err != nil {
		return s, err
	}
	if before.sum(requestsTotal) == 0 {
		return s, fmt.Errorf("the holder's metrics have no %s", requestsTotal)
	}
	s.requests = after.sum(requestsTotal) - before.sum(requestsTotal)
	s.what = after.grown(requestsTotal, before)
	s.cpu = time.Duration((after.sum(cpuSeconds) - before.sum(cpuSeconds)) * float64(time.Second))
	s.resident = after.sum(residentBytes)
	say("idle: %.0f requests at %d held", s.requests, n)
	return s, b.world.StopHolder(true)
}

// quiet waits until the holder has made no request for five seconds, at most half a minute, and returns its metrics then.
func (b *bench) quiet(ctx context.Context) (samples, error) {
	last, err := readMetrics(ctx, b.world.HolderStatusURL())
	for still, looks := 0, 0; err == nil && still < 5 && looks < 30; looks++ {
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
		before := last.sum(requestsTotal)
		if last, err = readMetrics(ctx, b.world.HolderStatusURL()); err != nil {
			return nil, err
		}
		if still++; last.sum(requestsTotal) != before {
			still = 0
		}
	}
	return last, err
}

// pause lets time pass, which is what is measured here.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
