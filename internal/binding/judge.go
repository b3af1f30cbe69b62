package binding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/repourl"
)

// Source is what an applier fetches.
type Source struct {
	URL    string
	Branch string
}

// Candidate is a GitTarget and what it refers to.
type Candidate struct {
	Target   v1alpha1.GitTarget
	Provider *v1alpha1.GitProvider // nil: there is none of that name
}

// Verdict says whether a trigger may act. The zero Verdict says it may not, and that it is not known why.
type Verdict struct {
	// Bound: at least one GitTarget that names the trigger writes what the applier fetches.
	Bound bool

	// Reason is Succeeded when bound, else NotReferenced, NotBound or SourceMismatch.
	Reason v1alpha1.Reason

	// Refused: GitTargets name the trigger, and somebody has to change something before any of them binds it. False while
	// one of them cannot be judged yet.
	Refused bool

	// Message names every GitTarget that names the trigger, and what is wrong with it.
	Message string
}

// Judge returns the verdict for trigger, whose applier fetches source; nil means that this is not known yet.
//
// Candidates in other namespaces, being deleted, or naming another trigger do not count. When none is left the verdict is
// NotReferenced. One that writes the source binds the trigger, whatever the others do. Otherwise one that cannot be judged
// yet makes it NotBound, which time may heal. When each of them is refused, it is SourceMismatch if each writes something
// else than the applier fetches, and NotBound, refused, otherwise.
func Judge(trigger *v1alpha1.FluxTrigger, source *Source, candidates []Candidate) Verdict {
	var bound, unknown, wrong []string
	mismatch := true
	for _, c := range candidates {
		if !names(c.Target, trigger) {
			continue
		}
		switch fate, why := judge(c, trigger, source); fate {
		case fits:
			bound = append(bound, c.Target.Name)
		case undecided:
			unknown = append(unknown, why)
		default:
			wrong = append(wrong, why)
			mismatch = mismatch && fate == mismatched
		}
	}
	slices.Sort(bound)
	all := slices.Concat(unknown, wrong)
	slices.Sort(all)
	switch {
	case len(bound) > 0:
		m := "bound by GitTarget " + strings.Join(bound, ", ")
		if len(all) > 0 {
			m += "; not by " + strings.Join(all, "; ")
		}
		return Verdict{Bound: true, Reason: v1alpha1.ReasonSucceeded, Message: m}
	case len(unknown) > 0:
		return Verdict{Reason: v1alpha1.ReasonNotBound, Message: strings.Join(all, "; ")}
	case len(wrong) > 0 && mismatch:
		return Verdict{Reason: v1alpha1.ReasonSourceMismatch, Refused: true, Message: strings.Join(all, "; ")}
	case len(wrong) > 0:
		return Verdict{Reason: v1alpha1.ReasonNotBound, Refused: true, Message: strings.Join(all, "; ")}
	}
	return Verdict{
		Reason:  v1alpha1.ReasonNotReferenced,
		Message: "no GitTarget in this namespace names this trigger in spec.applyTriggerRef, so it holds nothing",
	}
}

// names says that the GitTarget asks for this trigger.
func names(target v1alpha1.GitTarget, trigger *v1alpha1.FluxTrigger) bool {
	ref := target.Spec.ApplyTriggerRef
	return ref != nil && ref.Kind == "FluxTrigger" && ref.Name == trigger.Name &&
		target.Namespace == trigger.Namespace && target.DeletionTimestamp.IsZero()
}

// fate is what one GitTarget does for a trigger.
type fate int

const (
	refused    fate = iota
	mismatched      // refused because it writes something else than the applier fetches
	undecided
	fits
)

// judge returns the fate of one GitTarget, and why it does not fit.
func judge(c Candidate, trigger *v1alpha1.FluxTrigger, source *Source) (fate, string) {
	name, spec := c.Target.Name, c.Target.Spec
	mirrored, held := cluster(spec.KubeProviderRef), cluster(trigger.Spec.KubeProviderRef)
	switch {
	case mirrored != held:
		return refused, fmt.Sprintf("GitTarget %s mirrors KubeProvider %s (spec.kubeProviderRef), and the applier is in %s", name, mirrored, held)
	case c.Provider == nil:
		return undecided, fmt.Sprintf("GitTarget %s names GitProvider %s (spec.gitProviderRef), which does not exist", name, spec.GitProviderRef.Name)
	case !AllowsBranch(c.Provider, spec.Branch):
		return refused, fmt.Sprintf("GitTarget %s writes branch %s (spec.branch), which GitProvider %s does not allow (spec.allowedBranches)",
			name, spec.Branch, c.Provider.Name)
	case source == nil:
		return undecided, fmt.Sprintf("GitTarget %s waits until it is known what the applier fetches", name)
	case !repourl.Same(c.Provider.Spec.URL, source.URL):
		return mismatched, fmt.Sprintf("GitTarget %s writes %s (GitProvider %s, spec.url), and the applier fetches %s",
			name, shown(c.Provider.Spec.URL), c.Provider.Name, shown(source.URL))
	case spec.Branch != source.Branch:
		return mismatched, fmt.Sprintf("GitTarget %s writes branch %s (spec.branch), and the applier follows %s", name, spec.Branch, source.Branch)
	}
	return fits, ""
}

// cluster returns the name of the KubeProvider ref means.
func cluster(ref v1alpha1.KubeProviderReference) string {
	if ref.Name == "" {
		return v1alpha1.DefaultKubeProvider
	}
	return ref.Name
}

// shown returns url as a message may show it: its key, which holds no credentials.
func shown(url string) string {
	if key, ok := repourl.Key(url); ok {
		return key
	}
	return "an address that names no repository"
}
