package statuspage

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// sentence says how a is, from what is in a already. It names no instant, so it changes only when a does.
func sentence(a Applier) string {
	said := []string{standing(a)}
	if a.State == StateHeld {
		switch {
		case a.Ready.Reason == string(v1alpha1.ReasonApplyFailed) && newest(a) != nil:
			said = append(said, "The last apply failed, of commit "+short(newest(a).Commit)+": "+newest(a).Message)
		case a.Ready.Status == metav1.ConditionFalse:
			said = append(said, upper(a.Ready.Message))
		case a.Waiting != nil:
			said = append(said, "A request for commit "+short(a.Waiting.Commit)+" waits to be carried out")
		case a.BehindSince != nil:
			said = append(said, "The source holds a newer commit, and nobody has asked for it yet")
		}
	}
	if couldNotStart(a.LastHandledRequest) {
		said = append(said, "What was asked for last could not be started: "+a.LastHandledRequest.Message)
	}
	var b strings.Builder
	for _, s := range said {
		b.WriteString(strings.TrimRight(s, ". ") + ". ")
	}
	return strings.TrimSpace(b.String())
}

// standing says whether a is held, and why or why not.
func standing(a Applier) string {
	switch a.State {
	case StateHeld:
		if op := newest(a); op != nil && op.Phase == v1alpha1.OperationSucceeded && op.AppliedRevision != "" {
			_, commit, _ := strings.Cut(op.AppliedRevision, ":")
			return "Applies nothing on its own; commit " + short(cmp.Or(commit, op.AppliedRevision)) + " was applied last"
		}
		return "Applies nothing on its own"
	case StateApplying:
		if a.Operation != nil {
			return applying(*a.Operation)
		}
		return upper(a.Held.Message)
	case StateSuspending:
		return "Not held yet: " + a.Held.Message
	case StateReleasing:
		return upper(cmp.Or(a.Held.Message, "being handed back"))
	case StateNotHeld:
		if a.Configured.Status != metav1.ConditionTrue && a.Configured.Message != a.Held.Message {
			return "Not held: " + strings.TrimRight(a.Configured.Message, ". ") + ". " + upper(a.Held.Message)
		}
		return "Not held: " + a.Held.Message
	}
	if a.HolderAvailable != nil && a.HolderAvailable.Status == metav1.ConditionFalse {
		return "No holder answers for it. When one last did: " + cmp.Or(a.Held.Message, "nobody had said yet whether it is held")
	}
	return "Nobody has said yet whether it is held"
}

// applying says what is under way, and for whom.
func applying(op Operation) string {
	var s string
	switch {
	case op.Origin == v1alpha1.OriginDeletion:
		return upper(cmp.Or(op.Message, "it is being deleted"))
	case op.Phase == v1alpha1.OperationUnresolved:
		s = "Applying commit " + short(op.Commit) + " is not over after five minutes"
	default:
		s = "Applying commit " + short(op.Commit) + ", " + because(op.Operation)
	}
	if op.Message != "" {
		s += ": " + op.Message
	}
	return s
}

// because says why an operation was begun, so that it can follow a comma.
func because(op v1alpha1.Operation) string {
	switch op.Origin {
	case v1alpha1.OriginExternal:
		return "resumed by " + cmp.Or(op.By, "somebody else") + ", whom nobody asked"
	case v1alpha1.OriginDeletion:
		return "because it is being deleted"
	case v1alpha1.OriginManual:
		return "because a person asked for it"
	}
	switch op.Reason {
	case v1alpha1.ApplyManual:
		return "because a person asked for it"
	case v1alpha1.ApplyForeignCommit:
		return "which somebody else pushed"
	case v1alpha1.ApplyPublish:
		return "which publishes captured edits"
	case v1alpha1.ApplyCatchUp:
		return "to catch up with the branch"
	}
	return "because it was asked for"
}

// asker says who wanted an operation.
func asker(op v1alpha1.Operation) string {
	switch op.Origin {
	case v1alpha1.OriginExternal:
		return cmp.Or(op.By, "somebody else")
	case v1alpha1.OriginDeletion:
		return "who deleted it"
	case v1alpha1.OriginManual:
		return "a person, by annotation"
	}
	return "gitmirror"
}

// leading says whether the holder acts, and because of whom.
func leading(l Leadership) string {
	switch {
	case l.Leads && l.Controller == "":
		return "This holder acts: the kustomize-controller beside it runs without leader election."
	case l.Leads:
		return "This holder acts: the kustomize-controller beside it leads (" + plain(l.Controller) + ")."
	case l.Controller != "":
		return "This holder stands by: " + plain(l.Controller) + " leads, and the holder beside that one acts."
	}
	return "This holder starts nothing: no kustomize-controller leads at this moment."
}

// newest returns the newest operation that is over, or nil.
func newest(a Applier) *Operation {
	if a.Operation != nil && a.Operation.Phase.Final() {
		return a.Operation
	}
	if len(a.History) > 0 {
		return &a.History[0]
	}
	return nil
}

// short returns the beginning of a commit's hash, and any other text as it is.
func short(commit string) string {
	if len(commit) < 40 || strings.Trim(commit, "0123456789abcdef") != "" {
		return commit
	}
	return commit[:9]
}

// upper returns text with a capital at its beginning; names of conditions' reasons have one already.
func upper(text string) string {
	if text == "" || text[0] < 'a' || text[0] > 'z' {
		return text
	}
	return string(text[0]-'a'+'A') + text[1:]
}
