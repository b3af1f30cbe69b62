package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/bench/stats"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// member is one held team of a crowd and who looks at it.
type member struct {
	team *scene.Team
	eye  *eye
}

// crowd compares operations on as many sources at once with one operation alone.
func (b *bench) crowd(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the watches
	if err := b.world.StartHolder(ctx); err != nil {
		return err
	}
	say("crowd: %d held teams, each with a source of its own", b.atOnce)
	members, err := b.gather(ctx)
	if err != nil {
		return err
	}
	as, err := b.world.Client(cluster.GitmirrorUser) // an identity only; gitmirror does not run
	if err != nil {
		return err
	}
	var alone, together laps // one a round; of together, one a member and a round
	var walls stats.Sample   // of all together
	rounds := b.roundsOr(8)
	for round := range rounds + 1 {
		var one, all laps
		order := []func() error{
			func() (err error) {
				one, err = atOnce(ctx, []member{members[round%len(members)]}, as, fmt.Sprintf("alone-%d", round))
				return err
			},
			func() (err error) { all, err = atOnce(ctx, members, as, fmt.Sprintf("together-%d", round)); return err },
		}
		if round%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, operate := range order {
			if err := operate(); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
		if round > 0 {
			alone, together, walls = append(alone, one...), append(together, all...), append(walls, all.wall())
		}
		say("crowd, round %d of %d: alone %s, %d together %s%s", round, rounds, ms(one.wall()), len(members), ms(all.wall()), warming(round))
	}
	ratio := stats.Ratio(walls, alone.took())
	b.table.add(compare(fmt.Sprintf("%d operations on %d sources", len(members), len(members)), named{"at once", walls}, named{"one alone", alone.took()}, 0),
		fmt.Sprintf("%.1f a second at once; one after the other they would be %d times one alone, which is %.1f times as long as at once",
			float64(len(members))/walls.Median().Seconds(), len(members), float64(len(members))/ratio),
		breakdown("each at once", together.phases(heldPhases)),
		breakdown("one alone", alone.phases(heldPhases)))
	return b.world.StopHolder(true)
}

// gather furnishes the teams and waits until each is held.
func (b *bench) gather(ctx context.Context) ([]member, error) {
	members := make([]member, b.atOnce)
	for i := range members {
		name := fmt.Sprintf("bench-crowd-%02d", i)
		t, err := scene.New(ctx, b.world, scene.Options{Name: name, Files: scene.ConfigMaps(name, 1, "0")})
		if err != nil {
			return nil, err
		}
		if err := t.AwaitHeld(ctx); err != nil {
			return nil, err
		}
		e, err := openEye(ctx, b.world, t)
		if err != nil {
			return nil, err
		}
		members[i] = member{t, e}
	}
	return members, nil
}

// atOnce commits to the repository of each member, asks for all the commits at once, and returns the members' laps.
func atOnce(ctx context.Context, members []member, as client.Client, id string) (laps, error) {
	commits := make([]string, len(members))
	for i, m := range members {
		var err error
		if commits[i], err = m.team.World.Git.Commit(ctx, m.team.Name, "main", pusher, id, scene.ConfigMaps(m.team.Name, 1, id)); err != nil {
			return nil, err
		}
	}
	all, errs := make(laps, len(members)), make([]error, len(members))
	var wait sync.WaitGroup
	for i, m := range members {
		wait.Go(func() {
			if all[i], errs[i] = heldCycle(ctx, m.team, m.eye, as, commits[i], "bench-"+id); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", m.team.Name, errs[i])
			}
		})
	}
	wait.Wait()
	return all, errors.Join(errs...)
}

// wall is how long it took from the beginning of the first to the end of the last.
func (ls laps) wall() time.Duration {
	if len(ls) == 0 {
		return 0
	}
	first := slices.MinFunc(ls, func(a, b lap) int { return a.begin.Compare(b.begin) })
	last := slices.MaxFunc(ls, func(a, b lap) int { return a.end.Compare(b.end) })
	return last.end.Sub(first.begin)
}
