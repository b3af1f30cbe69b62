package hold

import (
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

const (
	isHeld       = "Ready=True/Succeeded Configured=True/Succeeded Held=True/Suspended"
	isApplying   = "Ready=True/Succeeded Reconciling=True/Progressing Configured=True/Succeeded Held=True/Applying"
	isSuspending = "Ready=False/Suspending Reconciling=True/Progressing Configured=True/Succeeded Held=False/Suspending"
	isTakenBack  = "Ready=False/OperationUnresolved Reconciling=True/Progressing Configured=True/Succeeded Held=False/Suspending"
	isUnresolved = "Ready=False/OperationUnresolved Reconciling=True/Progressing Configured=True/Succeeded Held=True/Applying"
	isFailed     = "Ready=False/ApplyFailed Configured=True/Succeeded Held=True/Suspended"
	isFetching   = "Ready=True/Succeeded Reconciling=True/Progressing Configured=True/Succeeded Held=True/Suspended"
	isNobodys    = "Ready=True/NotReferenced Configured=Unknown/NotReferenced Held=False/NotReferenced"
	isReleasing  = "Ready=False/Releasing Reconciling=True/Progressing Configured=True/Succeeded Held=False/Releasing"
)

func isRefused(r string) string {
	return "Ready=False/" + r + " Stalled=True/" + r + " Configured=False/" + r + " Held=False/NotConfigured"
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name string
		seen Seen
		want string
	}{
		// Nobody asks.
		{"nothing seen, nothing done", Seen{}, "Wait"},
		{"a trigger nobody names touches nothing and is Ready", seen(verdict(v1alpha1.ReasonNotReferenced), noKustomization), "Wait | " + isNobodys},
		{"a trigger nobody names answers a request", seen(verdict(v1alpha1.ReasonNotReferenced), noKustomization, request("r1", c1)), "Wait | " + isNobodys + " | answer r1 Rejected"},

		// Refusals.
		{"refuses without a KubeProvider", seen(func(s *Seen) { s.KubeProvider = nil }), "Wait 1m0s | " + isRefused("KubeProviderNotFound")},
		{"refuses another namespace without the grant", seen(func(s *Seen) { s.Trigger.Spec.KustomizationRef.Namespace = "flux-system" }), "Wait 1m0s | " + isRefused("ApplierNamespaceNotAllowed")},
		{"takes another namespace with the grant", seen(func(s *Seen) {
			s.Trigger.Spec.KustomizationRef.Namespace = "flux-system"
			s.KubeProvider.Spec.AllowCrossNamespace.Appliers = true
		}), "AddFinalizer"},
		{"refuses without a Kustomization", seen(noKustomization), "Wait 1m0s | " + isRefused("ApplierNotFound")},
		{"records that it will let Flux prune a held Kustomization being deleted (B12)", seen(held, func(s *Seen) { s.Kustomization.DeletionTimestamp = &past }), "Wait again | Ready=False/ApplierNotFound Reconciling=True/Progressing Stalled=True/ApplierNotFound Configured=False/ApplierNotFound Held=True/Applying |  Requested"},
		{"refuses a source that is no GitRepository", seen(func(s *Seen) { s.Kustomization.Spec.SourceRef.Kind = "OCIRepository"; s.GitRepository = nil }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses without the GitRepository", seen(func(s *Seen) { s.GitRepository = nil }), "Wait 1m0s | " + isRefused("ApplierNotFound")},
		{"refuses a pinned commit", seen(func(s *Seen) { s.GitRepository.Spec.Reference.Commit = c1 }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses a tag", seen(func(s *Seen) { s.GitRepository.Spec.Reference = &sourcev1.GitRepositoryRef{Tag: "v1"} }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses a semver range", seen(func(s *Seen) { s.GitRepository.Spec.Reference.SemVer = ">1" }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses a ref name", seen(func(s *Seen) { s.GitRepository.Spec.Reference.Name = "refs/heads/main" }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses a URL that no status takes", seen(func(s *Seen) { s.GitRepository.Spec.URL += strings.Repeat("/", 2048) }), "Wait 1m0s | " + isRefused("UnsupportedSource")},
		{"refuses what another living trigger holds", seen(heldBy(other), otherLives), "Wait 1m0s | " + isRefused("HeldByAnotherTrigger")},
		{"takes one whose held-by no holder applied", seen(finalizer, forged(other), otherLives), "Suspend fresh guarded | " + isSuspending},
		{"takes over from a trigger that is gone", seen(finalizer, heldBy(other)), "Suspend fresh guarded | " + isSuspending},
		{"refuses a source no GitTarget writes", seen(verdict(v1alpha1.ReasonSourceMismatch)), "Wait 1m0s | " + isRefused("SourceMismatch")},
		{"waits for a GitTarget that cannot be judged yet", seen(verdict(v1alpha1.ReasonNotBound)), "Wait 1m0s | Ready=Unknown/NotBound Reconciling=True/Progressing Configured=Unknown/NotBound Held=False/NotConfigured"},
		{"answers a request it must refuse", seen(noKustomization, request("r1", c1)), "Wait 1m0s | " + isRefused("ApplierNotFound") + " | answer r1 Rejected"},
		{"leaves a held Kustomization suspended while it refuses", seen(held, verdict(v1alpha1.ReasonSourceMismatch)), "Wait 1m0s | " + isRefused("SourceMismatch")},

		// Adoption.
		{"puts its finalizer first", seen(), "AddFinalizer"},
		{"then suspends, guarded", seen(finalizer), "Suspend fresh guarded | " + isSuspending},
		{"adopts one that somebody else keeps suspended", seen(finalizer, func(s *Seen) { s.Kustomization.Spec.Suspend = true }), "Suspend fresh guarded | " + isSuspending},
		{"holds nothing before the token is handled", seen(suspended("x"), handled("before")), "Wait 5m0s | " + isSuspending},
		{"holds when the token is handled", seen(suspended("x"), handled("x")), "Wait | " + isHeld},
		{"rests without a timer while held", seen(held), "Wait | " + isHeld},
		{"suspends anew what is not handled for long: a late controller may have written over it", seen(suspended("x"), handled("before"), waited(5*time.Minute)), "Suspend fresh | " + isSuspending},
		{"but not before its time", seen(suspended("x"), handled("before"), waited(5*time.Minute-time.Second)), "Wait 1s | " + isSuspending},
		{"waits for somebody's own token to be handled", seen(held, requestedAt("by-hand")), "Wait 5m0s | " + isSuspending},
		{"makes a token of its own when somebody removed it", seen(held, requestedAt("")), "Suspend fresh | " + isSuspending},
		{"does not take what somebody wrote for a hold of its own", seen(suspended("x"), handled("x"), forged(us)), "Suspend fresh guarded | " + isSuspending},

		// Taken back.
		{"takes back a flux resume nobody asked for (B13)", seen(held, resumedBy("flux")), "Suspend fresh event ResumedElsewhere | " + isTakenBack + " |  Unresolved fresh"},
		{"takes back also when held-by went with it", seen(held, resumedBy("kubectl-replace"), heldBy("")), "Suspend fresh event ResumedElsewhere | " + isTakenBack + " |  Unresolved fresh"},
		{"puts a wiped held-by back without an alarm", seen(held, heldBy("")), "Suspend fresh guarded | " + isSuspending},
		{"puts its held-by back when somebody wrote another over it", seen(held, forged(other), otherLives), "Suspend fresh guarded | " + isSuspending},
		{"takes back also from who wrote another held-by over ours first", seen(held, resumedBy("flux"), func(s *Seen) {
			s.Kustomization.Annotations[v1alpha1.HeldByAnnotation] = other
			owners(s, "flux", "Update", "kubectl-annotate", "Update")
		}, otherLives), "Suspend fresh event ResumedElsewhere | " + isTakenBack + " |  Unresolved fresh"},
		{"notices a resume that was suspended again before it was seen", seen(held, flapped("flux")), "Suspend fresh event ResumedElsewhere | " + isTakenBack + " |  Unresolved fresh"},
		{"takes back its own resume that landed too late, without blaming anybody", seen(held, resumedWith("t-late")), "Suspend fresh | " + isSuspending},

		// A request, up to its record.
		{"records the operation and resumes nothing yet", seen(held, request("r1", c1)), "Wait again | " + isApplying + " | r1 Requested"},
		{"serves no request before it holds", seen(suspended("x"), request("r1", c1)), "Wait 5m0s | " + isSuspending},
		{"does not serve a request twice", seen(held, request("r1", c1), answered("r1")), "Wait | " + isHeld + " | answer r1 Succeeded"},
		{"answers an id that ran before from the history", seen(held, finished(v1alpha1.OperationFailed), request("r0", c1), answered("r9")), "Wait | " + isFailed + " | r0 Failed | answer r0 Failed"},
		{"serves a newer request after an answered one", seen(held, finished(v1alpha1.OperationSucceeded), request("r1", c1)), "Wait again | " + isApplying + " | r1 Requested | answer r0 Succeeded"},
		{"stays not Ready while it tries again after a failure", seen(held, finished(v1alpha1.OperationFailed), request("r1", c1)), "Wait again | Ready=False/ApplyFailed Reconciling=True/Progressing Configured=True/Succeeded Held=True/Applying | r1 Requested | answer r0 Failed"},
		{"fetches when the artifact is elsewhere", seen(held, request("r1", c2)), "Fetch holdfast-fetch-r1 guarded | " + isFetching},
		{"fetches when there is no artifact", seen(held, request("r1", c2), artifact("")), "Fetch holdfast-fetch-r1 guarded | " + isFetching},
		{"does not take no artifact for no commit", seen(held, request("r1", ""), artifact("")), "Fetch holdfast-fetch-r1 guarded | " + isFetching},
		{"records nothing for no commit", seen(held, request("r1", ""), artifact(""), source("holdfast-fetch-r1", "holdfast-fetch-r1")), "Wait event ApplyRequestFailed | " + isHeld + " | answer r1 RequestFailed"},
		{"waits for its own fetch", seen(held, request("r1", c2), source("holdfast-fetch-r1", "")), "Wait | " + isFetching},
		{"waits for the fetch of another holder", seen(held, request("r1", c2), source("holdfast-fetch-r9", "")), "Wait | " + isFetching},
		{"stamps over a fetch that is handled", seen(held, request("r1", c2), source("holdfast-fetch-r9", "holdfast-fetch-r9")), "Fetch holdfast-fetch-r1 guarded | " + isFetching},
		{"stamps over a person's token", seen(held, request("r1", c2), source("by-hand", "")), "Fetch holdfast-fetch-r1 guarded | " + isFetching},
		{"answers Stale when the branch is elsewhere", seen(held, request("r1", c2), source("holdfast-fetch-r1", "holdfast-fetch-r1")), "Wait | " + isHeld + " | answer r1 Stale"},
		{"answers RequestFailed when the fetch failed", seen(held, request("r1", c2), source("holdfast-fetch-r1", "holdfast-fetch-r1"), func(s *Seen) {
			s.GitRepository.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "GitOperationFailed"}}
		}), "Wait event ApplyRequestFailed | " + isHeld + " | answer r1 RequestFailed"},
		{"answers RequestFailed when the source is suspended", seen(held, request("r1", c2), source("holdfast-fetch-r1", "holdfast-fetch-r1"), func(s *Seen) { s.GitRepository.Spec.Suspend = true }), "Wait event ApplyRequestFailed | " + isHeld + " | answer r1 RequestFailed"},
		{"answers RequestFailed when there is still no artifact", seen(held, request("r1", c2), artifact(""), source("holdfast-fetch-r1", "holdfast-fetch-r1")), "Wait event ApplyRequestFailed | " + isHeld + " | answer r1 RequestFailed"},

		// Requested.
		{"resumes what is recorded, with the token of the record, guarded", seen(held, operation("Requested")), "Resume holdfast-t1 guarded 5m0s | " + isApplying + " | r1 Running"},
		{"does not resume while a token is not handled", seen(held, operation("Requested"), requestedAt("by-hand")), "Wait 5m0s | " + isApplying + " | r1 Requested"},
		{"suspends anew before it withdraws, so that a lost resume cannot land: the artifact moved", seen(held, operation("Requested"), artifact(c2)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends anew before it withdraws: an operation before it", seen(held, finished(v1alpha1.OperationSucceeded), operation("Requested"), artifact(c2)), "Suspend fresh | " + isApplying + " | r1 Settling fresh | answer r0 Succeeded"},
		{"suspends anew before it withdraws: it became refused", seen(held, operation("Requested"), verdict(v1alpha1.ReasonSourceMismatch)), "Suspend fresh | Ready=False/SourceMismatch Reconciling=True/Progressing Stalled=True/SourceMismatch Configured=False/SourceMismatch Held=True/Applying | r1 Settling fresh"},
		{"suspends anew before it withdraws: the trigger is being deleted", seen(held, operation("Requested"), deleting), "Suspend fresh | " + isReleasing + " | r1 Settling fresh"},
		{"suspends anew before it withdraws: nobody names the trigger any more", seen(held, operation("Requested"), verdict(v1alpha1.ReasonNotReferenced)), "Suspend fresh | Ready=True/NotReferenced Reconciling=True/Progressing Configured=Unknown/NotReferenced Held=False/Releasing | r1 Settling fresh"},
		{"withdraws nothing that ran, although the trigger is being deleted", seen(suspended("stop"), operation("Requested"), handled("stop"), ran, deleting), "Suspend fresh | " + isReleasing + " | r1 Settling fresh"},
		{"withdraws nothing that ran, although it became refused", seen(suspended("stop"), operation("Requested"), handled("stop"), ran, func(s *Seen) { s.KubeProvider = nil }), "Suspend fresh | Ready=False/KubeProviderNotFound Reconciling=True/Progressing Stalled=True/KubeProviderNotFound Configured=False/KubeProviderNotFound Held=True/Applying | r1 Settling fresh"},
		{"withdraws nothing before it is known whether it ran", seen(suspended("stop"), operation("Requested"), deleting), "Wait 5m0s | " + isReleasing + " | r1 Requested"},
		{"follows a resume whose answer was lost", seen(held, operation("Requested"), resumedWith(t1)), "Wait 5m0s | " + isApplying + " | r1 Running"},
		{"suspends at once when the lost resume has started", seen(held, operation("Requested"), resumedWith(t1), progressing(8)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"judges a run whose resume was never written down and that a stop suspended", seen(suspended("stop"), operation("Requested"), handled("stop"), ran), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"resumes again when a stop suspended it before it ran", seen(suspended("stop"), operation("Requested"), handled("stop")), "Resume holdfast-t1 guarded 5m0s | " + isApplying + " | r1 Running"},
		{"suspends and judges when somebody resumed it first", seen(held, operation("Requested"), resumedBy("flux")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},
		{"suspends and judges when held-by was wiped", seen(held, operation("Requested"), heldBy("")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends and judges when somebody resumed and suspended it first, and names who", seen(held, operation("Requested"), flapped("flux")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},

		// Running.
		{"waits for the start, with a deadline", seen(held, operation("Running"), resumedWith(t1), later(time.Minute)), "Wait 4m0s | " + isApplying + " | r1 Running"},
		{"progress on an older generation is no start", seen(held, operation("Running"), resumedWith(t1), progressing(7)), "Wait 5m0s | " + isApplying + " | r1 Running"},
		{"suspends as soon as progress is seen", seen(held, operation("Running"), resumedWith(t1), progressing(8)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends as soon as Ready moved", seen(held, operation("Running"), resumedWith(t1), ready("Unknown", "Progressing")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends as soon as the history moved", seen(held, operation("Running"), resumedWith(t1), historyTop("d2", "ReconciliationSucceeded", 1)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends as soon as T1 is handled (B10)", seen(held, operation("Running"), resumedWith(t1), handled(t1)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends at the deadline whatever happens (B15)", seen(held, operation("Running"), resumedWith(t1), later(5*time.Minute)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends when the start is in the future of its clock", seen(held, operation("Running"), resumedWith(t1), later(-time.Hour)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"lets a clock be two minutes off", seen(held, operation("Running"), resumedWith(t1), later(-2*time.Minute)), "Wait 7m0s | " + isApplying + " | r1 Running"},
		{"suspends when somebody's token covers T1", seen(held, operation("Running"), resumedWith("by-hand")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"sends a suspend it can name after a stop or crash suspended it", seen(suspended("stop"), operation("Running"), handled("stop")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"sends a suspend it can name after a person suspended it", seen(suspended(t1), operation("Running")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"blames nobody for a resume who only suspended it", seen(held, suspended(t1), operation("Running"), flapped("flux")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},

		// Settling.
		{"waits for T2", seen(suspended(t2), operation("Settling"), ran), "Wait 5m0s | " + isApplying + " | r1 Settling holdfast-t2"},
		{"is Unresolved when T2 is not handled after five minutes, and follows it (B15)", seen(suspended(t2), operation("Settling"), later(time.Hour)), "Wait 1m0s event ApplyUnresolved | " + isUnresolved + " | r1 Unresolved holdfast-t2"},
		{"suspends again when T2 was stamped over", seen(suspended("by-hand"), operation("Settling"), handled("by-hand")), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"suspends again when somebody resumed it", seen(suspended(t2), operation("Settling"), handled(t2), resumedBy("flux")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},
		{"names who resumed and suspended it after a suspend the record knows nothing of (a crash)", seen(held, operation("Running"), flapped("flux"), ownToken("lost")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},
		{"names who resumed and suspended it and took held-by away", seen(held, operation("Requested"), flapped("flux"), heldBy("")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},
		{"names who was taken back by a suspend the record knows nothing of (a crash)", seen(held, operation("Running"), tookBack("lost", "flux")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by flux"},
		{"also when the operation had never been resumed", seen(held, operation("Requested"), tookBack("lost", "flux"), handled("lost"), ran), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by flux"},
		{"names nobody who resumed it before the record", seen(held, operation("Requested"), tookBack("lost", "flux"), handled("lost"), artifact(c2)), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"takes no other's word for who it was", seen(held, operation("Running"), suspended("lost"), func(s *Seen) { s.Kustomization.Annotations[v1alpha1.ResumedByAnnotation] = "you" }), "Suspend fresh | " + isApplying + " | r1 Settling fresh"},
		{"judges nothing when somebody resumed and suspended it after T2", seen(held, suspended(t2), operation("Settling"), handled(t2), ran, flapped("flux")), "Suspend fresh event ResumedElsewhere | " + isApplying + " | r1 Settling fresh by field manager flux (Update)"},
		{"judges when T2 is handled", seen(suspended(t2), operation("Settling"), handled(t2), ran), "Wait event Applied | " + isHeld + " | r1 Succeeded holdfast-t2 | answer r1 Succeeded"},
		{"a failed run is not Ready and not Stalled", seen(suspended(t2), operation("Settling"), handled(t2)), "Wait event ApplyFailed | " + isFailed + " | r1 Failed holdfast-t2 | answer r1 Failed"},
		{"answers the request of the operation, not the newer one", seen(suspended(t2), operation("Settling"), handled(t2), ran, request("r2", c2)), "Wait event Applied | " + isHeld + " | r1 Succeeded holdfast-t2 | answer r1 Succeeded"},

		// The Kustomization vanishes.
		{"an operation whose Kustomization is gone ends Failed", seen(finalizer, operation("Running"), noKustomization), "Wait event ApplyFailed | " + isRefused("ApplierNotFound") + " | r1 Failed | answer r1 Failed"},
		{"an operation whose Kustomization was made anew ends Failed", seen(finalizer, operation("Running"), anotherUID), "Wait event ApplyFailed | Ready=False/Suspending Reconciling=True/Progressing Configured=True/Succeeded Held=False/Suspending | r1 Failed | answer r1 Failed"},

		// Release.
		{"a trigger that never adopted just goes", seen(deleting), "Wait"},
		{"hands back when deleted", seen(held, deleting), "Release guarded again event Released | " + isReleasing},
		{"hands back when nobody names it", seen(held, verdict(v1alpha1.ReasonNotReferenced)), "Release guarded again event Released | Ready=True/NotReferenced Reconciling=True/Progressing Configured=Unknown/NotReferenced Held=False/Releasing"},
		{"finishes a hand-back that was cut short", seen(finalizer, deleting, owner("holdfast", "Apply")), "Release guarded again event Released | " + isReleasing},
		{"lets go when nothing of it is left", seen(finalizer, deleting), "RemoveFinalizer"},
		{"lets go when the Kustomization is gone", seen(finalizer, deleting, noKustomization), "RemoveFinalizer"},
		{"lets go without touching what another trigger holds", seen(held, deleting, heldBy(other), otherLives, otherAdopted), "RemoveFinalizer"},
		{"hands over to the next in line, suspended all the while", seen(held, deleting, otherLives), "Suspend fresh guarded again event Released | " + isReleasing},
		{"hands over also when no GitTarget names it any more", seen(held, otherLives, verdict(v1alpha1.ReasonNotReferenced)), "Suspend fresh guarded again event Released | Ready=True/NotReferenced Reconciling=True/Progressing Configured=Unknown/NotReferenced Held=False/Releasing"},
		{"hands nothing over to one that is not bound itself", seen(held, deleting, otherLives, otherUnbound), "Release guarded again event Released | " + isReleasing},
		{"stays until the next in line has adopted", seen(held, deleting, heldBy(other), otherLives), "Wait | Ready=False/HeldByAnotherTrigger Reconciling=True/Progressing Stalled=True/HeldByAnotherTrigger Configured=False/HeldByAnotherTrigger Held=False/Releasing"},
		{"hands back what went to one that is gone and never adopted", seen(held, deleting, heldBy(other)), "Release guarded again event Released | " + isReleasing},
		{"hands back what went to one that leaves and never adopted", seen(held, deleting, heldBy(other), otherLives, otherUnbound), "Release guarded again event Released | " + isReleasing},
		{"hands back also when somebody wrote another held-by over ours", seen(held, deleting, forged(other)), "Release guarded again event Released | " + isReleasing},
		{"suspends an operation before it hands back", seen(held, operation("Running"), resumedWith(t1), deleting, progressing(8)), "Suspend fresh | " + isReleasing + " | r1 Settling fresh"},
		{"follows that operation to its end before it hands back", seen(suspended(t2), operation("Settling"), deleting), "Wait 5m0s | " + isReleasing + " | r1 Settling holdfast-t2"},
		{"hands back also when refused", seen(held, deleting, func(s *Seen) { s.KubeProvider = nil }), "Release guarded again event Released | Ready=False/KubeProviderNotFound Reconciling=True/Progressing Stalled=True/KubeProviderNotFound Configured=False/KubeProviderNotFound Held=False/Releasing"},
		{"rejects a request while it hands back", seen(held, deleting, request("r1", c1)), "Release guarded again event Released | " + isReleasing + " | answer r1 Rejected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tell(Decide(tt.seen)); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMessagesNameTheFieldAndTheFix(t *testing.T) {
	tests := []struct {
		name string
		seen Seen
		cond v1alpha1.ConditionType
		says []string
	}{
		{"KubeProvider", seen(func(s *Seen) { s.KubeProvider = nil }), v1alpha1.ConditionStalled, []string{"spec.kubeProviderRef", "default", "create it"}},
		{"namespace", seen(func(s *Seen) { s.Trigger.Spec.KustomizationRef.Namespace = "flux-system" }), v1alpha1.ConditionStalled, []string{"spec.kustomizationRef", "allowCrossNamespace.appliers"}},
		{"Kustomization", seen(noKustomization), v1alpha1.ConditionStalled, []string{"spec.kustomizationRef", "team/app"}},
		{"GitRepository", seen(func(s *Seen) { s.GitRepository = nil }), v1alpha1.ConditionStalled, []string{"spec.sourceRef", "team/repo"}},
		{"pin", seen(func(s *Seen) { s.GitRepository.Spec.Reference.Commit = c1 }), v1alpha1.ConditionStalled, []string{"spec.ref", "branch"}},
		{"other trigger", seen(heldBy(other), otherLives), v1alpha1.ConditionStalled, []string{"team/other", "delete one"}},
		{"left suspended", seen(held, verdict(v1alpha1.ReasonSourceMismatch)), v1alpha1.ConditionHeld, []string{"left suspended"}},
		{"not touched", seen(verdict(v1alpha1.ReasonSourceMismatch)), v1alpha1.ConditionHeld, []string{"not touched"}},
		{"for whom a suspend waits", seen(held, operation("Running"), resumedWith(t1), progressing(8)), v1alpha1.ConditionReconciling, []string{"kustomize-controller"}},
		{"a URL", seen(func(s *Seen) { s.GitRepository.Spec.URL += strings.Repeat("/", 2048) }), v1alpha1.ConditionStalled, []string{"spec.url", "shorten"}},
		{"for whom a fetch waits", seen(held, request("r1", c2)), v1alpha1.ConditionReconciling, []string{"source-controller", c2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := status.Get(Decide(tt.seen).Status.Conditions, tt.cond)
			if c == nil {
				t.Fatal("no such condition")
			}
			for _, s := range tt.says {
				if !strings.Contains(c.Message, s) {
					t.Errorf("%q does not say %q", c.Message, s)
				}
			}
		})
	}
}

func TestTakingBackNamesWhoResumed(t *testing.T) {
	tests := []struct {
		name string
		by   edit
		want string
	}{
		{"a one-off update", resumedBy("flux"), "field manager flux (Update)"},
		{"a parent that applies", all(resumedBy("x"), owner("kustomize-controller", "Apply")), "field manager kustomize-controller (Apply)"},
		{"a removed field", all(resumedBy("x"), func(s *Seen) { s.Kustomization.ManagedFields = nil }), "removed spec.suspend"},
		{"the newest of two", all(resumedBy("x"), func(s *Seen) {
			f := metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`)
			s.Kustomization.ManagedFields = []metav1.ManagedFieldsEntry{
				{Manager: "old", Operation: "Update", Time: &past, FieldsV1: f},
				{Manager: "new", Operation: "Update", Time: &metav1.Time{Time: now}, FieldsV1: f},
			}
		}), "field manager new (Update)"},
		{"one who suspended it again", flapped("flux"), "was resumed for a moment by field manager flux (Update), and may have applied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Decide(seen(held, tt.by)).Event.Message; !strings.Contains(got, tt.want) {
				t.Errorf("%q does not say %q", got, tt.want)
			}
		})
	}
}

func TestTheRecordHoldsAllARestartNeeds(t *testing.T) {
	op := Decide(seen(held, request("r1", c1))).Status.Operation
	want := v1alpha1.Baseline{ReadyTransition: &past, ReadyReason: "ReconciliationSucceeded", HistoryDigest: "d1", HistoryStatus: "ReconciliationSucceeded", HistoryTotal: 4}
	if op.Token != "fresh" || op.ApplierUID != "k-uid" || op.Commit != c1 || op.RequestedAt != instant(now) {
		t.Errorf("recorded %+v", op)
	}
	if readyMoved(op.Before, want) || historyMoved(op.Before, want) {
		t.Errorf("baseline %+v, want %+v", op.Before, want)
	}
}

func TestHistoryIsBoundedAndNewestFirst(t *testing.T) {
	s := seen(suspended(t2), operation("Settling"), handled(t2), ran)
	for range maxHistory {
		s.Trigger.Status.History = append(s.Trigger.Status.History, v1alpha1.Operation{RequestID: "old"})
	}
	got := Decide(s).Status.History
	if len(got) != maxHistory || got[0].RequestID != "r1" || got[0].Phase != v1alpha1.OperationSucceeded {
		t.Errorf("%d entries, first %s %s", len(got), got[0].RequestID, got[0].Phase)
	}
}

func TestDecideChangesNothingItWasGiven(t *testing.T) {
	s := seen(suspended(t2), operation("Settling"), handled(t2), ran, finalizer)
	before := s.Trigger.DeepCopy()
	Decide(s)
	if s.Trigger.Status.Operation.Phase != before.Status.Operation.Phase || len(s.Trigger.Status.History) != len(before.Status.History) {
		t.Error("the trigger that was read changed")
	}
}

func TestBranchOf(t *testing.T) {
	tests := []struct {
		name string
		ref  *sourcev1.GitRepositoryRef
		want string
		ok   bool
	}{
		{"no ref is master", nil, "master", true},
		{"an empty ref is master", &sourcev1.GitRepositoryRef{}, "master", true},
		{"a branch", &sourcev1.GitRepositoryRef{Branch: "feat/x"}, "feat/x", true},
		{"a commit on a branch is pinned", &sourcev1.GitRepositoryRef{Branch: "main", Commit: c1}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := BranchOf(&sourcev1.GitRepository{Spec: sourcev1.GitRepositorySpec{Reference: tt.ref}})
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func TestCommitOf(t *testing.T) {
	for revision, want := range map[string]string{
		"main@sha1:abc": "abc", "feat/x@sha1:abc": "abc", "refs/heads/main@sha1:abc": "abc", "a@b@sha256:abc": "abc", "sha1:abc": "abc",
		"": "", "main": "", "main@abc": "", "main/abc": "", "main:abc": "",
	} {
		if got := CommitOf(revision); got != want {
			t.Errorf("CommitOf(%q) = %q, want %q", revision, got, want)
		}
	}
}
