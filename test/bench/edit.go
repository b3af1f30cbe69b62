package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/bench/stats"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const (
	editBound = 60 * time.Second // for one edit on a busy machine
	editTeam  = "bench-edit"
	editTwin  = "bench-git" // the repository that git pushes to

	// auditPeriod is how long the API server of the world collects audit events before it sends them.
	auditPeriod = 100 * time.Millisecond
)

// edits compares an edit's way to Git with git itself.
func (b *bench) edits(ctx context.Context) error {
	rounds := b.roundsOr(20)
	say("edit: a mirrored team, and a clone of a repository with the same content")
	team, err := scene.New(ctx, b.world, scene.Options{Name: editTeam, NoHold: true})
	if err != nil {
		return err
	}
	alice, err := b.world.Client(cluster.Alice)
	if err != nil {
		return err
	}
	lag, err := b.auditLag(ctx, alice, rounds)
	if err != nil {
		return fmt.Errorf("time the audit webhook: %w", err)
	}
	clone, err := b.mirror(ctx, team)
	if err != nil {
		return err
	}
	mirrored, pushed, err := b.editRounds(ctx, team, alice, clone, rounds)
	if err != nil {
		return err
	}
	share := 100 * stats.Ratio(lag, mirrored)
	b.table.add(compare("edit → pushed", named{"mirrored", mirrored}, named{"git commit && git push", pushed}, 0),
		fmt.Sprintf("of it the audit event is on its way: %s, %.0f%%; the API server collects events for up to %s", summary(lag), share, ms(auditPeriod)))
	return b.world.StopGitmirror(true)
}

// auditLag measures how long after a patch's answer its audit event arrives at a receiver that does nothing else.
func (b *bench) auditLag(ctx context.Context, alice client.Client, rounds int) (stats.Sample, error) {
	var lag stats.Sample
	for round := range rounds + 1 {
		if err := pause(ctx, phase(round)); err != nil {
			return nil, err
		}
		took, err := b.audit.lag(ctx, func(ctx context.Context) (string, error) {
			return patchLevel(ctx, alice, fmt.Sprintf("audit-%d", round))
		})
		if err != nil {
			return nil, err
		}
		if round > 0 {
			lag = append(lag, took)
		}
	}
	say("edit: audit events arrive %s after the answer", summary(lag))
	return lag, nil
}

// phase is how long to wait before the round's edit, so that edits are spread evenly over the period in which the API server
// collects audit events, and do not follow its beat. 38 hundredths is near the golden section, whose multiples do that.
func phase(round int) time.Duration { return auditPeriod * time.Duration(round*38%100) / 100 }

// mirror makes gitmirror mirror the team without anything held, and clones the twin.
func (b *bench) mirror(ctx context.Context, team *scene.Team) (*clone, error) {
	if err := b.audit.close(); err != nil {
		return nil, err
	}
	if err := b.world.StartGitmirror(ctx); err != nil {
		return nil, err
	}
	team.NoApply = true // and idleTimeout is 0
	if err := team.Furnish(ctx); err != nil {
		return nil, err
	}
	if err := team.Await(ctx, "the target's streams run", func(ctx context.Context) (bool, string, error) {
		return team.IsTrue(ctx, &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: team.Name, Name: "web"}}, v1alpha1.ConditionStreamsRunning)
	}); err != nil {
		return nil, err
	}
	if err := b.world.Git.AddRepo(ctx, editTwin, scene.Web(editTeam)); err != nil {
		return nil, err
	}
	return newClone(ctx, b.world, editTwin)
}

// editRounds lets both take turns; each round's edit is the same one line of the same file for both.
func (b *bench) editRounds(ctx context.Context, team *scene.Team, alice client.Client, c *clone, rounds int) (mirrored, pushed stats.Sample, err error) {
	for round := range rounds + 1 {
		level := fmt.Sprintf("level-%d", round)
		var byMirror, byGit time.Duration
		order := []func() error{
			func() (err error) { byMirror, err = b.mirroredEdit(ctx, team, alice, level); return err },
			func() (err error) {
				byGit, err = c.pushEdit(ctx, "apps/settings.yaml", scene.Settings(editTeam, level))
				return err
			},
		}
		if round%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, edit := range order {
			if err := pause(ctx, phase(round)); err != nil {
				return nil, nil, err
			}
			if err := edit(); err != nil {
				return nil, nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
		if round > 0 {
			mirrored, pushed = append(mirrored, byMirror), append(pushed, byGit)
		}
		say("edit, round %d of %d: mirrored %s, git %s%s", round, rounds, ms(byMirror), ms(byGit), warming(round))
	}
	return mirrored, pushed, nil
}

// mirroredEdit patches as alice, and checks that what was pushed is her commit.
func (b *bench) mirroredEdit(ctx context.Context, team *scene.Team, alice client.Client, level string) (time.Duration, error) {
	tip, err := newTip(ctx, b.world.Git, team.Name)
	if err != nil {
		return 0, err
	}
	if _, err := patchLevel(ctx, alice, level); err != nil {
		return 0, err
	}
	begin := time.Now()
	end, err := tip.moved(ctx)
	if err != nil {
		return 0, err
	}
	log, err := b.world.Git.Log(ctx, team.Name, "main")
	if err != nil {
		return 0, err
	}
	if log[0].AuthorEmail != cluster.Alice || log[1].Hash != tip.before {
		return 0, fmt.Errorf("the branch moved to %s by %s, not to one commit by alice", log[0].Hash, log[0].AuthorEmail)
	}
	return end.Sub(begin), nil
}

// patchLevel changes one value as whoever c is, and returns the resourceVersion that made.
func patchLevel(ctx context.Context, c client.Client, level string) (string, error) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: editTeam, Name: "settings"}}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"level": level}})
	if err != nil {
		return "", err
	}
	if err := c.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return "", fmt.Errorf("edit the ConfigMap: %w", err)
	}
	return cm.ResourceVersion, nil
}
