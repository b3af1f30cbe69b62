package conditions

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// Stream is one watched resource of a target.
type Stream struct {
	Resource string // such as deployments.apps
	Synced   bool
	Err      string // why it does not run; "" while it does
	Denied   bool   // the account lacks the permission to list and watch it
}

// TargetSeen is everything Target may look at. A nil object does not exist.
type TargetSeen struct {
	Now          time.Time // UTC
	Target       *v1alpha1.GitTarget
	Provider     *v1alpha1.GitProvider
	KubeProvider *v1alpha1.KubeProvider
	Labels       map[string]string     // of the target's namespace
	Trigger      *v1alpha1.FluxTrigger // the one spec.applyTriggerRef names
	Rules        int                   // WatchRules that name the target and are not refused
	Streams      []Stream
	Pending      bool   // edits wait for a commit or a push
	PushErr      string // why the repository does not take commits; "" while it does
	PathErr      string // why the folder cannot be edited
	Pushed       string // newest commit pushed for the target
}

// Validate returns why a GitTarget's references do not admit writing, before anything is watched.
func Validate(s TargetSeen) Fault {
	spec := s.Target.Spec
	switch {
	case s.KubeProvider == nil:
		return Fault{Reason: v1alpha1.ReasonKubeProviderNotFound, Message: fmt.Sprintf(
			"spec.kubeProviderRef names KubeProvider %q, which does not exist; create it or name another", spec.KubeProviderRef.Name)}
	case !binding.Admits(s.KubeProvider, s.Target.Namespace, s.Labels):
		return Fault{Reason: v1alpha1.ReasonNamespaceNotAuthorized, Message: fmt.Sprintf(
			"KubeProvider %q does not admit namespace %q (spec.accessFrom there), so nothing is mirrored; "+
				"add a selector there that fits the namespace's labels, or label the namespace", s.KubeProvider.Name, s.Target.Namespace)}
	case s.Provider == nil:
		return Fault{Reason: v1alpha1.ReasonGitProviderNotFound, Message: fmt.Sprintf(
			"spec.gitProviderRef names GitProvider %q, which does not exist in this namespace; create it or name another", spec.GitProviderRef.Name)}
	case !binding.AllowsBranch(s.Provider, spec.Branch):
		return Fault{Reason: v1alpha1.ReasonBranchNotAllowed, Message: fmt.Sprintf(
			"spec.branch is %q, and GitProvider %q allows only %s; add it to spec.allowedBranches there or write another branch",
			spec.Branch, spec.GitProviderRef.Name, strings.Join(s.Provider.Spec.AllowedBranches, ", "))}
	}
	return Fault{}
}

// Target returns the whole status of a GitTarget.
func Target(s TargetSeen) v1alpha1.GitTargetStatus {
	l := on(s.Target.Status.Conditions, s.Target.Generation, s.Now)
	validated := first(Validate(s), pathFault(s), providerFault(s))
	l.set(v1alpha1.ConditionValidated, validated, "references, branch and path can be written")
	streams := streamFault(s)
	l.set(v1alpha1.ConditionStreamsRunning, streams, "every resource is watched")
	pushed := pushFault(s)
	l.set(v1alpha1.ConditionPushed, pushed, "nothing waits to be pushed")
	trigger := triggerCondition(l, s)
	return v1alpha1.GitTargetStatus{
		ObservedGeneration: s.Target.Generation,
		Commit:             s.Pushed,
		Conditions:         l.ready(worst(validated, unless(pushed.Passing, pushed), trigger, streams), "edits are mirrored"),
	}
}

// waiting says what it means for the trigger that edits cannot get into Git: an apply would overwrite them.
func (s TargetSeen) waiting() string {
	if s.Target.Spec.ApplyTriggerRef == nil {
		return "; edits are kept until it can be written"
	}
	return "; edits are kept until it can be written, and no apply is asked for until then"
}

// unless returns no fault when not is true.
func unless(not bool, f Fault) Fault {
	if not {
		return Fault{}
	}
	return f
}

func pathFault(s TargetSeen) Fault {
	if s.PathErr == "" {
		return Fault{}
	}
	return Fault{Reason: v1alpha1.ReasonPathNotAccepted, Message: fmt.Sprintf("folder %q: %s%s", s.Target.Spec.Path, s.PathErr, s.waiting())}
}

func providerFault(s TargetSeen) Fault {
	if s.Provider == nil || status.IsTrue(s.Provider.Status.Conditions, v1alpha1.ConditionReady) {
		return Fault{}
	}
	ready := status.Get(s.Provider.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return Fault{Reason: v1alpha1.ReasonGitProviderNotReady, Passing: true,
			Message: fmt.Sprintf("GitProvider %q has not been looked at yet", s.Provider.Name)}
	}
	return Fault{Reason: v1alpha1.ReasonGitProviderNotReady, Message: fmt.Sprintf(
		"GitProvider %q is not ready (%s): %s; edits are kept until it is", s.Provider.Name, ready.Reason, ready.Message)}
}

func streamFault(s TargetSeen) Fault {
	if s.Rules == 0 {
		return Fault{Reason: v1alpha1.ReasonNoWatchRule, Message: fmt.Sprintf(
			"no WatchRule in this namespace names GitTarget %q and can be watched; create one, or see what its status says", s.Target.Name)}
	}
	for _, stream := range s.Streams {
		if stream.Denied {
			return Fault{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf(
				"gitmirror may not list and watch %s in this namespace; grant it get, list and watch, or take the resource out of the WatchRule%s: %s",
				stream.Resource, s.unseen(), stream.Err)}
		}
	}
	for _, stream := range s.Streams {
		if !stream.Synced {
			waits := "its first list"
			if stream.Err != "" {
				waits = stream.Err
			}
			return Fault{Reason: v1alpha1.ReasonProgressing, Passing: true, Message: fmt.Sprintf("waiting for %s: %s", stream.Resource, waits)}
		}
	}
	return Fault{}
}

// unseen says what it means for the trigger that edits are not seen: an apply might overwrite them.
func (s TargetSeen) unseen() string {
	if s.Target.Spec.ApplyTriggerRef == nil {
		return ""
	}
	return "; no apply is asked for until its edits are seen"
}

func pushFault(s TargetSeen) Fault {
	switch {
	case s.PushErr != "":
		return Fault{Reason: v1alpha1.ReasonPushFailed, Message: "edits are kept and pushed again: " + s.PushErr}
	case s.Pending:
		return Fault{Reason: v1alpha1.ReasonProgressing, Passing: true, Message: "edits are being collected or pushed"}
	}
	return Fault{}
}

// triggerCondition sets ApplyTriggerReady from the trigger's own Ready, and returns what it means for the target's.
func triggerCondition(l *list, s TargetSeen) Fault {
	ref := s.Target.Spec.ApplyTriggerRef
	if ref == nil {
		status.Clear(&l.conds, v1alpha1.ConditionApplyTriggerReady)
		return Fault{}
	}
	f := triggerFault(s)
	l.set(v1alpha1.ConditionApplyTriggerReady, f, fmt.Sprintf("%s %q holds its applier", ref.Kind, ref.Name))
	return f
}

// Binds says whether the target writes what the trigger's applier fetches, as far as the trigger tells. provider is nil
// when there is none.
func Binds(trigger *v1alpha1.FluxTrigger, target *v1alpha1.GitTarget, provider *v1alpha1.GitProvider) binding.Verdict {
	var source *binding.Source
	if src := trigger.Status.Source; src != nil {
		source = &binding.Source{URL: src.URL, Branch: src.Branch}
	}
	return binding.Judge(trigger, source, []binding.Candidate{{Target: *target, Provider: provider}})
}

func triggerFault(s TargetSeen) Fault {
	ref := s.Target.Spec.ApplyTriggerRef
	if s.Trigger == nil {
		return Fault{Reason: v1alpha1.ReasonApplyTriggerNotFound, Message: fmt.Sprintf(
			"spec.applyTriggerRef names %s %q, which does not exist in this namespace; create it or name another", ref.Kind, ref.Name)}
	}
	missing := HolderMissing(s.Trigger.Status.Conditions)
	ready := status.Get(s.Trigger.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || v1alpha1.Reason(ready.Reason) == v1alpha1.ReasonNotReferenced {
		f := Fault{Reason: v1alpha1.ReasonNotReferenced, Passing: true, Unknown: true,
			Message: fmt.Sprintf("%s %q has not seen this reference yet; a holder must run beside its applier", ref.Kind, ref.Name)}
		if missing != nil {
			f.Message += ": " + missing.Message
		}
		return f
	}
	if bound := Binds(s.Trigger, s.Target, s.Provider); bound.Reason == v1alpha1.ReasonSourceMismatch {
		return Fault{Reason: bound.Reason, Message: fmt.Sprintf("%s %q: %s", ref.Kind, ref.Name, bound.Message)}
	}
	if missing != nil {
		return Fault{Reason: v1alpha1.ReasonHolderMissing, Message: fmt.Sprintf("%s %q: %s", ref.Kind, ref.Name, missing.Message)}
	}
	if ready.Status == metav1.ConditionTrue {
		return Fault{}
	}
	return Fault{
		Reason:  v1alpha1.Reason(ready.Reason),
		Message: fmt.Sprintf("%s %q: %s", ref.Kind, ref.Name, ready.Message),
		Passing: !status.IsTrue(s.Trigger.Status.Conditions, v1alpha1.ConditionStalled),
	}
}
