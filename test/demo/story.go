package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

const quiet = 2 * time.Second

// story is the demo as it is told: each step does something real, waits for what should follow, and says what a person
// would type to see the same.
type story struct {
	ctx   context.Context
	world *cluster.World
	team  *scene.Team
	steps []step
	count int
}

// tell goes through the steps; the first that does not hold ends it.
func (s *story) tell() error {
	fmt.Println("\nTo run the commands below in another terminal:")
	see("export KUBECONFIG=%s; alias kubectl=%s", s.world.Kubeconfig(cluster.Alice), s.world.KubectlPath())
	for _, tell := range []func() error{s.furnish, s.begin, s.hold, s.scale, s.applied, s.push, s.resume} {
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}

// timed runs one step, prints its heading before and how long it took after.
func (s *story) timed(heading string, do func() error) error {
	s.count++
	fmt.Printf("\n%d. %s\n", s.count, heading)
	begin := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("step %d, %s: %w", s.count, heading, err)
	}
	took := time.Since(begin)
	s.steps = append(s.steps, step{heading, took})
	fmt.Printf("   took %s\n", took.Round(time.Millisecond))
	return nil
}

func say(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }

// see prints the command a person would use; KUBECONFIG is set as the last lines of the demo say.
func see(format string, args ...any) { fmt.Printf("   $ "+format+"\n", args...) }

func (s *story) furnish() error {
	return s.timed("A team with a repository and a Kustomization that Flux applies", func() (err error) {
		s.team, err = scene.New(s.ctx, s.world, scene.Options{Name: "team-a", Quiet: quiet, Idle: time.Second, NoHold: true})
		if err != nil {
			return err
		}
		k, err := s.team.Kustomization(s.ctx)
		if err != nil {
			return err
		}
		say("Flux applied %s.", k.Status.LastAppliedRevision)
		see("kubectl -n flux-system get kustomization team-a")
		return nil
	})
}

func (s *story) begin() error {
	return s.timed("Holdfast's two programs, gitmirror and the holder, are built from this checkout and started", func() error {
		if err := s.world.StartGitmirror(s.ctx); err != nil {
			return err
		}
		if err := s.world.StartHolder(s.ctx); err != nil {
			return err
		}
		see("less %s/gitmirror.log %s/holder.log", s.world.LogDir(), s.world.LogDir())
		return nil
	})
}

func (s *story) hold() error {
	return s.timed("Holdfast takes hold of the Kustomization", func() error {
		if err := s.team.Furnish(s.ctx); err != nil {
			return err
		}
		if err := s.team.AwaitHeld(s.ctx); err != nil {
			return err
		}
		head, err := s.world.Git.Head(s.ctx, s.team.Name, "main")
		if err != nil {
			return err
		}
		if _, err := s.team.AwaitApplied(s.ctx, head); err != nil {
			return err
		}
		if err := s.suspended(); err != nil {
			return err
		}
		say("It stays suspended from now on; the tip was applied once to catch up.")
		see("kubectl -n team-a get fluxtrigger web")
		return nil
	})
}

func (s *story) scale() error {
	return s.timed("Alice scales the Deployment with kubectl, and her edit becomes her commit", func() error {
		before, err := s.world.Git.Head(s.ctx, s.team.Name, "main")
		if err != nil {
			return err
		}
		if _, err := s.world.Kubectl(s.ctx, cluster.Alice, "-n", s.team.Name, "scale", "deployment/web", "--replicas=3"); err != nil {
			return err
		}
		c, err := s.team.AwaitCommit(s.ctx, before, cluster.Alice)
		if err != nil {
			return err
		}
		if files := strings.Join(c.Files, " "); files != "apps/web.yaml" {
			return fmt.Errorf("her commit changed %s, not only apps/web.yaml", files)
		}
		content, err := s.world.Git.ReadFile(s.ctx, s.team.Name, c.Hash, "apps/web.yaml")
		if err != nil {
			return err
		}
		want := strings.Replace(scene.Web(s.team.Name)["apps/web.yaml"], "replicas: 1 #", "replicas: 3 #", 1)
		if content != want {
			return fmt.Errorf("her commit changed more than the one line:\n%s", content)
		}
		say("commit %.10s by %s: %s", c.Hash, c.AuthorEmail, firstLine(c.Message))
		say("One line of apps/web.yaml changed; its comments are where they were.")
		see("git -C %s/team-a.git show %.10s", s.world.Git.Dir(), c.Hash)
		return nil
	})
}

func (s *story) applied() error {
	return s.timed("The holder applies exactly that commit, and suspends again", func() error {
		return s.awaitTip(cluster.Alice, v1alpha1.ApplyPublish)
	})
}

func (s *story) push() error {
	return s.timed("Bob pushes to Git; it is applied after the quiet period of "+quiet.String(), func() error {
		_, err := s.world.Git.Commit(s.ctx, s.team.Name, "main", gitserver.Author{Name: "Bob", Email: cluster.Bob}, "Log more",
			map[string]string{"apps/settings.yaml": scene.Settings(s.team.Name, "debug")})
		if err != nil {
			return err
		}
		if err := s.awaitTip(cluster.Bob, v1alpha1.ApplyForeignCommit); err != nil {
			return err
		}
		level, err := s.world.Kubectl(s.ctx, cluster.Bob, "-n", s.team.Name, "get", "configmap", "settings", "-o", "jsonpath={.data.level}")
		if err != nil {
			return err
		}
		replicas, err := s.world.Kubectl(s.ctx, cluster.Bob, "-n", s.team.Name, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")
		if err != nil {
			return err
		}
		if level != "debug" || replicas != "3" {
			return fmt.Errorf("the cluster has level %q and %s replicas, want debug and 3", level, replicas)
		}
		say("The cluster has Bob's log level, and still Alice's three replicas.")
		return nil
	})
}

func (s *story) resume() error {
	return s.timed("Somebody resumes the Kustomization by hand, and it is taken back", func() error {
		before, err := s.team.Kustomization(s.ctx)
		if err != nil {
			return err
		}
		if _, err := s.world.Kubectl(s.ctx, cluster.Bob, "-n", cluster.FluxNamespace, "patch", "kustomization", s.team.Name,
			"--type=merge", "-p", `{"spec":{"suspend":false}}`); err != nil {
			return err
		}
		if err := s.team.Await(s.ctx, "the Kustomization is suspended again", func(ctx context.Context) (bool, string, error) {
			k, err := s.team.Kustomization(ctx)
			return k.Spec.Suspend && k.Generation >= before.Generation+2, fmt.Sprintf("suspend %t, generation %d", k.Spec.Suspend, k.Generation), err
		}); err != nil {
			return err
		}
		message, err := s.team.AwaitEvent(s.ctx, v1alpha1.ReasonResumedElsewhere, "web")
		if err != nil {
			return err
		}
		say("Event ResumedElsewhere: %s", message)
		see("kubectl -n team-a get events --field-selector reason=ResumedElsewhere")
		return s.team.AwaitHeld(s.ctx)
	})
}

// awaitTip waits until an operation has applied the branch's tip for the reason given, and checks that it is by author.
func (s *story) awaitTip(author string, reason v1alpha1.ApplyReason) error {
	log, err := s.world.Git.Log(s.ctx, s.team.Name, "main")
	if err != nil {
		return err
	}
	tip := log[0]
	if tip.AuthorEmail != author {
		return fmt.Errorf("the tip is by %s, not by %s", tip.AuthorEmail, author)
	}
	op, err := s.team.AwaitApplied(s.ctx, tip.Hash)
	if err != nil {
		return err
	}
	if op.Reason != reason {
		return fmt.Errorf("the operation's reason is %s, want %s", op.Reason, reason)
	}
	if want := "main@sha1:" + tip.Hash; op.AppliedRevision != want {
		return fmt.Errorf("the operation applied %s, want %s", op.AppliedRevision, want)
	}
	if err := s.suspended(); err != nil {
		return err
	}
	say("operation %s: %s, applied %s", op.Reason, op.Phase, op.AppliedRevision)
	say("resumed at %s; the Kustomization is suspended again.", op.StartedAt.UTC().Format(time.TimeOnly))
	see("kubectl -n team-a get fluxtrigger web -o jsonpath='{.status.history[?(@.commit==\"%s\")]}'", op.Commit)
	return nil
}

// suspended checks what the whole story is about.
func (s *story) suspended() error {
	k, err := s.team.Kustomization(s.ctx)
	if err != nil {
		return err
	}
	if !k.Spec.Suspend {
		return fmt.Errorf("the Kustomization is not suspended")
	}
	return nil
}

// figures prints what each phase took.
func (s *story) figures() {
	fmt.Println("\nHow long it took")
	for _, p := range s.world.Timings() {
		fmt.Printf("   %8s  start: %s\n", p.Took.Round(time.Millisecond), p.Name)
	}
	for _, p := range s.steps {
		fmt.Printf("   %8s  %s\n", p.took.Round(time.Millisecond), p.name)
	}
}

// leaveRunning tells the visitor how to go on.
func (s *story) leaveRunning() {
	fmt.Printf(`
Everything keeps running until Ctrl-C. Try it yourself, in another terminal:
   export KUBECONFIG=%[1]s    # alice; bob's is %[2]s
   alias kubectl=%[3]s
   kubectl -n team-a set env deployment/web GREETING=hi
   kubectl -n team-a get fluxtriggers,gittargets
   kubectl -n team-a get fluxtriggers -w
   git clone %[4]s    # user %[5]s, password %[6]s
   git -C %[7]s/team-a.git log --format='%%h %%an %%s'
   logs: %[8]s
   the administrator, who may change Holdfast's own objects: %[9]s
`, s.world.Kubeconfig(cluster.Alice), s.world.Kubeconfig(cluster.Bob), s.world.KubectlPath(), s.world.Git.URL(s.team.Name),
		cluster.GitBob, s.world.Git.Password(cluster.GitBob), s.world.Git.Dir(), s.world.LogDir(), s.world.Kubeconfig(cluster.Admin))
}

func firstLine(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	return first
}
