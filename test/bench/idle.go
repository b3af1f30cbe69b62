package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const (
	idleTeam = "bench-idle"
	idleFor  = time.Minute
)

// standing is what a holder costs that has nothing to do, and what it took to get there.
type standing struct {
	triggers    int
	asked, kept requests      // in idleFor; kept is what keeps the holder alive
	cpu         time.Duration // in idleFor
	resident    float64       // bytes
	live        float64       // bytes of the heap that were in use when garbage was last collected
	adopted     laps
	log         requestLog
}

// idle counts the holder's requests at a tenth of the Kustomizations, and at all of them.
func (b *bench) idle(ctx context.Context) error {
	log, err := logRequests(ctx, b.world)
	if err != nil {
		return err
	}
	team, err := scene.New(ctx, b.world, scene.Options{Name: idleTeam, NoHold: true, Files: scene.ConfigMaps(idleTeam, 1, "0")})
	if err != nil {
		return err
	}
	few, err := b.standing(ctx, team, log, 0, b.held/10)
	if err != nil {
		return err
	}
	many, err := b.standing(ctx, team, log, few.triggers, b.held)
	if err != nil {
		return err
	}
	verdict := "met"
	if len(many.asked) > len(few.asked) {
		verdict = "MISSED"
	}
	b.table.add(fmt.Sprintf("API requests of an idle holder: %d a minute at %d held, %d at %d (goal: equal: %s)",
		len(few.asked), few.triggers, len(many.asked), many.triggers, verdict), few.idling(), many.idling())
	more := float64(many.triggers - few.triggers)
	b.table.add(fmt.Sprintf("memory of a holder: %.0f MiB resident at %d held, %.0f MiB at %d: %.1f KiB for each one more",
		few.resident/(1<<20), few.triggers, many.resident/(1<<20), many.triggers, (many.resident-few.resident)/more/(1<<10)),
		fmt.Sprintf("of it live on the heap: %.1f MiB and %.1f MiB: %.1f KiB for each one more", few.live/(1<<20), many.live/(1<<20), (many.live-few.live)/more/(1<<10)))
	for _, s := range []standing{few, many} {
		details, err := s.adopting()
		if err != nil {
			return err
		}
		start, took := s.adopted.first(stepMarked), s.adopted.last(stepHeld)
		b.table.add(fmt.Sprintf("from the holder's first request until all are held: %s for %d that were not; %s of it until the first is touched, then %.1f a second",
			ms(took), len(s.adopted), ms(start), float64(len(s.adopted))/(took-start).Seconds()), details...)
	}
	return nil
}

func (s standing) idling() string {
	return fmt.Sprintf("%d held: %s CPU time in the minute; requests: %s; not counted, for they keep it alive: %s",
		s.triggers, ms(s.cpu), s.asked.kinds(), s.kept.kinds())
}

// adopting says where the time of the adoptions went, and what they asked of the API server.
func (s standing) adopting() ([]string, error) {
	lines := []string{progress(s.adopted)}
	begin := s.adopted[0].begin.Add(s.adopted.first(stepMarked))
	end := s.adopted[0].begin.Add(s.adopted.last(stepHeld))
	for _, who := range []struct{ name, user string }{{"the holder", cluster.HolderUser}, {"kustomize-controller", kustomizeControllerUser}} {
		all, err := s.log.between(who.user, begin, end)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("from the first touched on, of %s %.1f requests are under way at a time; for each adoption: %s",
			who.name, all.took().Seconds()/end.Sub(begin).Seconds(), all.each(len(s.adopted))))
	}
	return lines, nil
}

// standing adds triggers from the number had to n while no holder runs, starts one, and watches it hold them and be idle.
func (b *bench) standing(ctx context.Context, team *scene.Team, log requestLog, had, n int) (standing, error) {
	s := standing{triggers: n, log: log}
	say("idle: making %d triggers", n-had)
	if err := addTriggers(ctx, team, had, n); err != nil {
		return s, err
	}
	var err error
	if s.adopted, err = b.adopt(ctx, log, n); err != nil {
		return s, err
	}
	before, err := b.quiet(ctx)
	if err != nil {
		return s, err
	}
	begin := time.Now()
	say("idle: %d held after %s; counting requests for %s", n, ms(s.adopted.last(stepHeld)), idleFor)
	if err := pause(ctx, idleFor); err != nil {
		return s, err
	}
	end := time.Now()
	after, err := readMetrics(ctx, b.world.HolderStatusURL())
	if err != nil {
		return s, err
	}
	logged, err := log.between(cluster.HolderUser, begin, end)
	if err != nil {
		return s, err
	}
	s.asked, s.kept = logged.apart()
	s.cpu = time.Duration((after.sum(cpuSeconds) - before.sum(cpuSeconds)) * float64(time.Second))
	s.resident, s.live = after.sum(residentBytes), after.sum(liveBytes)
	say("idle: %d requests at %d held, and %s", len(s.asked), n, s.kept.kinds())
	return s, b.world.StopHolder(true)
}

// adopt starts the holder and returns how it came to hold those of the n triggers that were not held, timed from its first
// request.
func (b *bench) adopt(ctx context.Context, log requestLog, n int) (laps, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the watches
	seen, err := b.watchAdoptions(ctx, n)
	if err != nil {
		return nil, err
	}
	say("idle: starting the holder")
	held := make(chan error, 1)
	go func() { held <- seen.allHeld(ctx) }()
	from := time.Now()
	if err := b.world.StartHolder(ctx); err != nil {
		return nil, err
	}
	if err := <-held; err != nil {
		return nil, err
	}
	logged, err := log.between(cluster.HolderUser, from, time.Now())
	if err != nil {
		return nil, err
	}
	if len(logged) == 0 {
		return nil, errors.New("the API server logged no request of the holder")
	}
	return seen.since(logged[0].at), nil
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
