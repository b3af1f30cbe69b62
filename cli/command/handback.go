package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/cli/release"
	"github.com/holdfast-gitops/holdfast/internal/applier"
	"github.com/holdfast-gitops/holdfast/internal/ownership"
)

const (
	pollEvery = 250 * time.Millisecond
	atOnce    = 16 // how many are handed back at a time
	// races is how often in a row somebody else may be faster before one is given up.
	races = 20
)

// releaser hands back what triggers hold.
type releaser struct {
	client  client.Client
	applier applier.Applier
	timeout time.Duration
	now     func() time.Time
}

// preview says what handBackAll would do.
func (r *releaser) preview(out io.Writer, work []held) error {
	failed := 0
	for _, h := range work {
		switch {
		case h.err != nil:
			failed++
			fmt.Fprintf(out, "%s: cannot be handed back: %v\n", h, h.err)
		case h.trigger.Name == "":
			fmt.Fprintf(out, "%s: would be handed back; its trigger is gone\n", h)
		default:
			fmt.Fprintf(out, "%s: would be deleted, and Kustomization %s handed back\n", h, h.kustomization)
		}
	}
	return total(out, work, failed, "cannot be handed back")
}

// handBackAll hands everything back, some at a time, and prints a line for each in the order of work.
func (r *releaser) handBackAll(ctx context.Context, out io.Writer, work []held) error {
	type outcome struct {
		line string
		err  error
	}
	outcomes := make([]chan outcome, len(work))
	slots := make(chan struct{}, atOnce)
	for i := range work {
		outcomes[i] = make(chan outcome, 1)
	}
	go func() {
		for i, h := range work {
			slots <- struct{}{}
			go func() {
				line, err := r.handBack(ctx, h)
				outcomes[i] <- outcome{line, err}
				<-slots
			}()
		}
	}()
	failed := 0
	for i, h := range work {
		o := <-outcomes[i]
		if o.err != nil {
			failed++
			o.line = "not handed back: " + o.err.Error()
		}
		fmt.Fprintf(out, "%s: %s\n", h, o.line)
	}
	return total(out, work, failed, "not handed back")
}

// total says how it went; failed of work did not.
func total(out io.Writer, work []held, failed int, what string) error {
	switch {
	case len(work) == 0:
		fmt.Fprintln(out, "nothing is held")
	case failed > 0:
		return fmt.Errorf("%d of %d %s; the lines above say why", failed, len(work), what)
	}
	return nil
}

// handBack hands one back and says how it is left.
func (r *releaser) handBack(ctx context.Context, h held) (string, error) {
	if h.err != nil {
		return "", h.err
	}
	p := progress{held: h}
	for lost := 0; ; {
		seen, err := r.observe(ctx, &p)
		if err != nil {
			return "", interrupted(ctx, err)
		}
		act := release.Decide(seen)
		switch act.Verb {
		case release.Done:
			return p.summary(seen), nil
		case release.Stop:
			return "", errors.New(act.Why)
		}
		switch err := r.perform(ctx, &p, seen, act); {
		case errors.Is(err, applier.ErrMoved), apierrors.IsConflict(err), apierrors.IsNotFound(err):
			if lost++; lost >= races {
				return "", fmt.Errorf("somebody else keeps changing it; run this again: %w", err)
			}
		case err != nil:
			return "", interrupted(ctx, err)
		case act.Verb != release.Wait:
			lost = 0
			continue
		}
		select {
		case <-ctx.Done():
			return "", interrupted(ctx, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// interrupted says why nothing goes on when that is so, and what err says otherwise.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fmt.Errorf("interrupted; run this again: %w", context.Cause(ctx))
}

// progress is what is known of one hand-back beyond what the cluster says.
type progress struct {
	held
	deletedAt   time.Time
	version     string // of the trigger when it was seen being deleted first
	moved       bool
	marked      bool // the Kustomization carried the hold at some time
	alone       bool // this program handed the Kustomization back
	suspendedAt time.Time
	token       string
}

// observe reads the trigger and the Kustomization; what does not exist is nil.
func (r *releaser) observe(ctx context.Context, p *progress) (release.Seen, error) {
	s := release.Seen{Now: r.now(), TriggerUID: string(p.triggerUID), Orphan: p.orphan}
	if p.trigger.Name != "" {
		var t v1alpha1.FluxTrigger
		switch err := r.client.Get(ctx, p.trigger, &t); {
		case err != nil && !gone(err):
			return s, advise("get", triggers, p.trigger.Namespace, err)
		case err == nil && t.UID == p.triggerUID:
			s.Trigger = &t
			p.watch(&t, s.Now)
		}
	}
	if err := r.observeSource(ctx, p, &s); err != nil || p.kustomization.Name == "" {
		return s, err
	}
	var k kustomizev1.Kustomization
	switch err := r.client.Get(ctx, p.kustomization, &k); {
	case err != nil && !gone(err):
		return s, advise("get", kustomizations, p.kustomization.Namespace, err)
	case err == nil:
		s.Kustomization = &k
		p.marked = p.marked || release.Carries(&k)
	}
	s.DeletedAt, s.Moved, s.Deadline = p.deletedAt, p.moved, p.deletedAt.Add(r.timeout)
	s.SuspendedAt, s.Token = p.suspendedAt, p.token
	return s, nil
}

// observeSource reads the GitRepository that may be frozen.
func (r *releaser) observeSource(ctx context.Context, p *progress, s *release.Seen) error {
	if p.source.Name == "" {
		return nil
	}
	var g sourcev1.GitRepository
	switch err := r.client.Get(ctx, p.source, &g); {
	case err != nil && !gone(err):
		return advise("get", sources, p.source.Namespace, err)
	case err == nil:
		s.Source = &g
	}
	return nil
}

// watch notes when a trigger is being deleted, and whether somebody changes it after that.
func (p *progress) watch(t *v1alpha1.FluxTrigger, now time.Time) {
	switch {
	case t.DeletionTimestamp.IsZero():
	case p.deletedAt.IsZero():
		p.deletedAt, p.version = now, t.ResourceVersion
	case p.version != t.ResourceVersion:
		p.moved = true
	}
}

// summary says how the Kustomization is left, and by whom.
func (p *progress) summary(s release.Seen) string {
	switch {
	case p.kustomization.Name == "":
		return fmt.Sprintf("GitRepository %s is no longer kept from fetching", p.source)
	case !p.marked:
		return fmt.Sprintf("deleted; it did not hold Kustomization %s", p.kustomization) + p.warning()
	case p.alone || p.trigger.Name == "":
		return release.Outcome(p.kustomization.String(), s.Kustomization) + p.warning()
	}
	return release.Outcome(p.kustomization.String(), s.Kustomization) + ", by the holder that runs" + p.warning()
}

// perform takes the step.
func (r *releaser) perform(ctx context.Context, p *progress, s release.Seen, act release.Action) error {
	var err error
	verb, resource, namespace := "patch", kustomizations, p.kustomization.Namespace
	switch act.Verb {
	case release.Delete:
		verb, resource, namespace = "delete", triggers, p.trigger.Namespace
		err = client.IgnoreNotFound(r.client.Delete(ctx, s.Trigger, client.Preconditions{UID: &s.Trigger.UID}))
	case release.Suspend:
		token := "release-" + rand.Text()
		if err = r.applier.Suspend(ctx, target(s.Kustomization), applier.Hold{By: ownership.Holder(s.Kustomization), Token: token}); err == nil {
			p.suspendedAt, p.token = s.Now, token
		}
	case release.Release:
		p.alone = true
		err = r.applier.Release(ctx, target(s.Kustomization))
	case release.GiveUp:
		p.alone = true
		err = r.applier.GiveUp(ctx, target(s.Kustomization))
	case release.Thaw:
		resource, namespace = sources, p.source.Namespace
		err = r.applier.Thaw(ctx, target(s.Source))
	case release.LetGo:
		resource, namespace = triggers, p.trigger.Namespace
		err = r.letGo(ctx, s.Trigger)
	case release.Wait, release.Done, release.Stop:
	}
	if err == nil || errors.Is(err, applier.ErrMoved) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return err
	}
	return advise(verb, resource, namespace, err)
}

// letGo takes the finalizer off the trigger, as it was read.
func (r *releaser) letGo(ctx context.Context, t *v1alpha1.FluxTrigger) error {
	next := t.DeepCopy()
	next.Finalizers = slices.DeleteFunc(slices.Clone(t.Finalizers), func(f string) bool { return f == v1alpha1.HoldFinalizer })
	patch := client.MergeFromWithOptions(t, client.MergeFromWithOptimisticLock{})
	return r.client.Patch(ctx, next, patch, client.FieldOwner(v1alpha1.HolderFieldManager))
}

// target names the object that was read, and no other of its name.
func target(k metav1.Object) applier.Target {
	return applier.Target{NamespacedName: types.NamespacedName{Namespace: k.GetNamespace(), Name: k.GetName()}, UID: k.GetUID()}
}
