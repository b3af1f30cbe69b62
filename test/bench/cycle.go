package main

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// pusher is who makes the commits that are applied.
var pusher = gitserver.Author{Name: "Bob", Email: cluster.Bob}

// cycles compares held with bare cycles at 1 and at 100 objects.
func (b *bench) cycles(ctx context.Context) error {
	if err := b.world.StartHolder(ctx); err != nil {
		return err
	}
	for _, c := range []struct {
		objects, rounds int
		goal            float64
	}{{1, 15, 2}, {100, 8, 1.3}} {
		if err := b.cyclesOf(ctx, c.objects, b.roundsOr(c.rounds), c.goal); err != nil {
			return err
		}
	}
	return b.world.StopHolder(true)
}

// pair is a held team, its bare twin, and who looks at them.
type pair struct {
	objects            int
	held, bare         *scene.Team
	atHeld, atBare     *eye
	gitmirror          client.Client // an identity only; gitmirror does not run
	heldLaps, bareLaps laps
}

// cyclesOf measures rounds of both, with objects ConfigMaps that all change in each commit.
func (b *bench) cyclesOf(ctx context.Context, objects, rounds int, goal float64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the watches
	say("cycle, %s: a held team and a bare twin", count(objects))
	p, err := b.newPair(ctx, objects)
	if err != nil {
		return err
	}
	cpu := 0.0
	for round := range rounds + 1 {
		if err := p.round(ctx, round); err != nil {
			return fmt.Errorf("round %d with %s: %w", round, count(objects), err)
		}
		held, bare := p.heldLaps[len(p.heldLaps)-1].took(), p.bareLaps[len(p.bareLaps)-1].took()
		if round == 0 {
			p.heldLaps, p.bareLaps = nil, nil
			m, err := readMetrics(ctx, b.world.HolderStatusURL())
			if err != nil {
				return err
			}
			cpu = m.sum(cpuSeconds)
		}
		say("cycle, %s, round %d of %d: held %s, bare %s%s", count(objects), round, rounds, ms(held), ms(bare), warming(round))
	}
	m, err := readMetrics(ctx, b.world.HolderStatusURL())
	if err != nil {
		return err
	}
	spent := time.Duration((m.sum(cpuSeconds) - cpu) / float64(rounds) * float64(time.Second))
	b.report(p, goal, spent)
	return nil
}

// report adds the line, and where the time goes.
func (b *bench) report(p *pair, goal float64, cpu time.Duration) {
	held, bare := named{"held", p.heldLaps.took()}, named{"bare", p.bareLaps.took()}
	applied := named{"bare until applied", p.bareLaps.until(bareApplied)}
	b.table.add(compare("held cycle, "+count(p.objects), held, bare, goal),
		compare("against the first run that applied it", held, applied, goal),
		breakdown("held", p.heldLaps.phases(heldPhases)),
		breakdown("bare", p.bareLaps.phases(barePhases)),
		fmt.Sprintf("CPU time of the holder: %s a cycle", ms(cpu)))
}

// newPair furnishes both teams and waits until the one is held and the other at rest.
func (b *bench) newPair(ctx context.Context, objects int) (*pair, error) {
	p := &pair{objects: objects}
	var err error
	for _, side := range []struct {
		team **scene.Team
		eye  **eye
		bare bool
	}{{&p.held, &p.atHeld, false}, {&p.bare, &p.atBare, true}} {
		name := fmt.Sprintf("bench-held-%d", objects)
		if side.bare {
			name = fmt.Sprintf("bench-bare-%d", objects)
		}
		o := scene.Options{Name: name, NoHold: side.bare, Files: scene.ConfigMaps(name, objects, "0")}
		if *side.team, err = scene.New(ctx, b.world, o); err != nil {
			return nil, err
		}
		if *side.eye, err = openEye(ctx, b.world, *side.team); err != nil {
			return nil, err
		}
	}
	if p.gitmirror, err = b.world.Client(cluster.GitmirrorUser); err != nil {
		return nil, err
	}
	return p, p.held.AwaitHeld(ctx)
}

// round makes the same commit in both repositories and measures both cycles, each side going first in every other round.
func (p *pair) round(ctx context.Context, round int) error {
	heldCommit, err := p.commit(ctx, p.held, round)
	if err != nil {
		return err
	}
	bareCommit, err := p.commit(ctx, p.bare, round)
	if err != nil {
		return err
	}
	token := fmt.Sprintf("bench-%d-%d", p.objects, round)
	held := func() error {
		l, err := heldCycle(ctx, p.held, p.atHeld, p.gitmirror, heldCommit, token)
		p.heldLaps = append(p.heldLaps, l)
		return err
	}
	bare := func() error {
		l, err := bareCycle(ctx, p.bare, p.atBare, bareCommit, token)
		p.bareLaps = append(p.bareLaps, l)
		return err
	}
	order := []func() error{held, bare}
	if round%2 == 1 {
		order[0], order[1] = order[1], order[0]
	}
	for _, cycle := range order {
		if err := cycle(); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) commit(ctx context.Context, t *scene.Team, round int) (string, error) {
	rev := fmt.Sprint(round + 1)
	return t.World.Git.Commit(ctx, t.Name, "main", pusher, "Revision "+rev, scene.ConfigMaps(t.Name, p.objects, rev))
}

func count(objects int) string {
	if objects == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", objects)
}

// warming marks the round that is not counted.
func warming(round int) string {
	if round == 0 {
		return " (warm-up, not counted)"
	}
	return ""
}
