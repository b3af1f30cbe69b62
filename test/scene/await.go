package scene

import (
	"context"
	"fmt"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
)

const (
	awaitBound = 60 * time.Second      // for one step between real programs on a busy machine
	lookEvery  = 20 * time.Millisecond // often enough to time a step by
)

// Within is the team with another bound for its waits, for what is looked at again only once a minute.
func (t *Team) Within(bound time.Duration) *Team {
	other := *t
	other.bound = bound
	return &other
}

// Await looks until done says true, at most for a minute. done also says what it saw, for the message when it never came
// true. An error that another look may not have, such as an API server that restarts, is looked past until then.
func (t *Team) Await(ctx context.Context, what string, done func(context.Context) (bool, string, error)) error {
	saw := "nothing"
	err := wait.PollUntilContextTimeout(ctx, lookEvery, t.bound, true, func(ctx context.Context) (bool, error) {
		ok, now, err := done(ctx)
		switch {
		case ctx.Err() != nil: // this look was cut off, and saw nothing
			return false, nil
		case err != nil:
			saw = err.Error()
			return false, nil
		}
		saw = now
		return ok, nil
	})
	if err != nil {
		return fmt.Errorf("waited %s in vain for: %s; last seen: %s", t.bound, what, saw)
	}
	return nil
}

// AwaitHeld waits until the trigger holds the Kustomization with no operation in flight. What the trigger says may be of
// before the story's last write; what the Kustomization says is not.
func (t *Team) AwaitHeld(ctx context.Context) error {
	return t.Await(ctx, "the Kustomization is held", func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil {
			return false, "", err
		}
		held := status.Get(f.Status.Conditions, v1alpha1.ConditionHeld)
		if held == nil {
			return false, "no Held condition", nil
		}
		k := &kustomizev1.Kustomization{}
		if err := t.Client.Get(ctx, types.NamespacedName(f.Spec.KustomizationRef), k); err != nil {
			return false, "", err
		}
		suspended := k.Spec.Suspend && k.Annotations[meta.ReconcileRequestAnnotation] == k.Status.LastHandledReconcileAt
		return suspended && v1alpha1.Reason(held.Reason) == v1alpha1.ReasonSuspended,
			fmt.Sprintf("%s: %s; suspended and handled: %t", held.Reason, held.Message, suspended), nil
	})
}

// AwaitApplied waits until an operation for the commit has Succeeded and the Kustomization is held again.
func (t *Team) AwaitApplied(ctx context.Context, commit string) (*v1alpha1.Operation, error) {
	var op *v1alpha1.Operation
	err := t.Await(ctx, "commit "+commit+" is applied by an operation", func(ctx context.Context) (bool, string, error) {
		f, err := t.Trigger(ctx)
		if err != nil {
			return false, "", err
		}
		if op = f.Status.Operation; op == nil {
			return false, "no operation; " + Say(f), nil
		}
		done := op.Commit == commit && op.Phase == v1alpha1.OperationSucceeded
		return done, fmt.Sprintf("operation for %s is %s %s; %s", op.Commit, op.Phase, op.Message, Say(f)), nil
	})
	if err != nil {
		return nil, err
	}
	return op, t.AwaitHeld(ctx)
}

// Say puts a trigger's conditions and request into one line.
func Say(f *v1alpha1.FluxTrigger) string {
	s := ""
	for _, c := range f.Status.Conditions {
		s += fmt.Sprintf("%s=%s/%s ", c.Type, c.Status, c.Reason)
	}
	if r := f.Status.Request; r != nil {
		s += fmt.Sprintf("request %s for %s ", r.Reason, r.Commit)
	}
	if h := f.Status.LastHandledRequest; h != nil {
		s += fmt.Sprintf("answered %s %s", h.Outcome, h.Message)
	}
	return s
}

// AwaitCommit waits until the branch's newest commit is another than before, and by the author of that e-mail address.
func (t *Team) AwaitCommit(ctx context.Context, before, email string) (gitserver.Commit, error) {
	var c gitserver.Commit
	err := t.Await(ctx, "a commit by "+email, func(ctx context.Context) (bool, string, error) {
		log, err := t.World.Git.Log(ctx, t.Name, "main")
		if err != nil || len(log) == 0 {
			return false, "no commit", err
		}
		c = log[0]
		saw := fmt.Sprintf("%s by %s: %s", c.Hash, c.AuthorEmail, c.Message)
		if g, err := t.Target(ctx); err == nil {
			for _, cond := range g.Status.Conditions {
				saw += fmt.Sprintf("; %s=%s %s", cond.Type, cond.Status, cond.Message)
			}
		}
		return c.Hash != before && c.AuthorEmail == email, saw, nil
	})
	return c, err
}

// IsTrue says whether the condition of the fresh object is True, and how it reads.
func (t *Team) IsTrue(ctx context.Context, obj client.Object, ct v1alpha1.ConditionType) (bool, string, error) {
	if err := t.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return false, "", err
	}
	c := status.Get(conditionsOf(obj), ct)
	if c == nil {
		return false, "no such condition", nil
	}
	return c.Status == metav1.ConditionTrue, c.Reason + ": " + c.Message, nil
}

// AwaitReason waits until the condition of obj has the reason, and returns its message.
func (t *Team) AwaitReason(ctx context.Context, obj client.Object, ct v1alpha1.ConditionType, r v1alpha1.Reason) (string, error) {
	message := ""
	key := client.ObjectKeyFromObject(obj)
	err := t.Await(ctx, fmt.Sprintf("%s of %T %s is %s", ct, obj, key, r), func(ctx context.Context) (bool, string, error) {
		if err := t.Client.Get(ctx, key, obj); err != nil {
			return false, "", err
		}
		c := status.Get(conditionsOf(obj), ct)
		if c == nil {
			return false, "no such condition", nil
		}
		message = c.Message
		return v1alpha1.Reason(c.Reason) == r, c.Reason + ": " + c.Message, nil
	})
	return message, err
}

// AwaitEvent waits for an Event with the reason about an object of that name, and returns its message.
func (t *Team) AwaitEvent(ctx context.Context, r v1alpha1.Reason, name string) (string, error) {
	message := ""
	err := t.Await(ctx, "Event "+string(r), func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		if err := t.Client.List(ctx, &events); err != nil && !apierrors.IsNotFound(err) {
			return false, "", err
		}
		saw := ""
		for _, e := range events.Items {
			if e.InvolvedObject.Name == name {
				saw += e.Reason + " "
			}
			if e.Reason == string(r) && e.InvolvedObject.Name == name && e.InvolvedObject.Namespace == t.Name {
				message = e.Message
				return true, "", nil
			}
		}
		return false, saw, nil
	})
	return message, err
}

// AwaitTargetPushFailed waits until the team's target says that the repository takes no commits, and returns how it says it.
func (t *Team) AwaitTargetPushFailed(ctx context.Context) (string, error) {
	g, err := t.Target(ctx)
	if err != nil {
		return "", err
	}
	return t.AwaitReason(ctx, g, v1alpha1.ConditionPushed, v1alpha1.ReasonPushFailed)
}
