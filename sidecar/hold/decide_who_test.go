package hold

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/binding"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

func TestWhoMayHoldSaysSoInConfigured(t *testing.T) {
	bound := func(r v1alpha1.Reason, refused bool) edit {
		return func(s *Seen) {
			s.Binding = binding.Verdict{Reason: r, Refused: refused, Message: "GitTarget a: x; GitTarget b: y"}
		}
	}
	tests := []struct {
		name    string
		seen    Seen
		want    string // Configured, then Ready, then whether it is Stalled or Reconciling
		message string // of Configured
	}{
		{"a trigger nobody names is Ready, so that a health check on it blocks nothing", seen(bound(v1alpha1.ReasonNotReferenced, false)), "Unknown/NotReferenced True/NotReferenced", "GitTarget a"},
		{"progressing while one GitTarget cannot be judged yet", seen(bound(v1alpha1.ReasonNotBound, false)), "Unknown/NotBound Unknown/NotBound Reconciling", "GitTarget a: x; GitTarget b: y"},
		{"stalled when each GitTarget is refused", seen(bound(v1alpha1.ReasonNotBound, true)), "False/NotBound False/NotBound Stalled", "GitTarget a: x; GitTarget b: y"},
		{"another repository", seen(bound(v1alpha1.ReasonSourceMismatch, true)), "False/SourceMismatch False/SourceMismatch Stalled", "GitTarget a: x; GitTarget b: y"},
		{"a namespace the cluster does not admit", seen(func(s *Seen) { s.Admitted = false }), "False/NamespaceNotAuthorized False/NamespaceNotAuthorized Stalled", "accessFrom"},
		{"no cluster before no admission", seen(func(s *Seen) { s.Admitted, s.KubeProvider = false, nil }), "False/KubeProviderNotFound False/KubeProviderNotFound Stalled", "KubeProvider default"},
		{"a cluster named by the trigger", seen(func(s *Seen) { s.KubeProvider, s.Trigger.Spec.KubeProviderRef.Name = nil, "prod" }), "False/KubeProviderNotFound False/KubeProviderNotFound Stalled", "KubeProvider prod"},
		{"a Kustomization of another namespace, without the grant", seen(func(s *Seen) { s.Trigger.Spec.KustomizationRef.Namespace = "flux-system" }), "False/ApplierNamespaceNotAllowed False/ApplierNamespaceNotAllowed Stalled", "allowCrossNamespace"},
		{"no Kustomization", seen(noKustomization), "False/ApplierNotFound False/ApplierNotFound Stalled", "team/app"},
		{"a Kustomization on its way out that was never held", seen(kDeleting(fluxs)), "False/ApplierNotFound False/ApplierNotFound Stalled", "being deleted"},
		{"a source that is no GitRepository", seen(func(s *Seen) { s.Kustomization.Spec.SourceRef.Kind = "Bucket" }), "False/UnsupportedSource False/UnsupportedSource Stalled", "Bucket"},
		{"another trigger holds it", seen(heldBy(other), otherLives), "False/HeldByAnotherTrigger False/HeldByAnotherTrigger Stalled", "team/other"},
		{"a trigger of another cluster holds it", seen(heldBy("elsewhere/uid")), "False/HeldByAnotherTrigger False/HeldByAnotherTrigger Stalled", "another cluster"},
		{"what the hold stands on (B9)", seen(inventory("flux-system_kustomize-controller_apps_Deployment")), "False/SelfManaged False/SelfManaged Stalled", "spec.selfManaged"},
		{"somebody else applies spec.suspend (B13)", seen(owner("argo", "Apply")), "False/SuspendOwnedElsewhere False/SuspendOwnedElsewhere Stalled", "field manager argo"},
		{"bound, and on its way to hold", seen(finalizer), "True/Succeeded False/Suspending Reconciling", "bound by"},
		{"bound and held", seen(held), "True/Succeeded True/Succeeded", "bound by"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Decide(tt.seen).Status
			says := func(t v1alpha1.ConditionType) string {
				c := status.Get(st.Conditions, t)
				return string(c.Status) + "/" + c.Reason
			}
			got := says(v1alpha1.ConditionConfigured) + " " + says(v1alpha1.ConditionReady)
			for _, c := range []v1alpha1.ConditionType{v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
				if status.Get(st.Conditions, c) != nil {
					got += " " + string(c)
				}
			}
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if m := status.Get(st.Conditions, v1alpha1.ConditionConfigured).Message; !strings.Contains(m, tt.message) {
				t.Errorf("%q does not say %q", m, tt.message)
			}
		})
	}
}

func TestTheLineForOneKustomization(t *testing.T) {
	// beside adds the other trigger, older by an hour, changed by the edits.
	beside := func(edits ...edit) edit {
		return func(s *Seen) {
			s.Trigger.CreationTimestamp = metav1.NewTime(now)
			otherLives(s)
			for _, e := range edits {
				e(&s.Others[0])
			}
		}
	}
	younger := func(s *Seen) { s.Trigger.CreationTimestamp = metav1.NewTime(now.Add(time.Hour)) }
	inFlight := func(s *Seen) { s.Trigger.Status.Operation = &v1alpha1.Operation{Phase: v1alpha1.OperationRunning} }
	check(t, []row{
		{"the older goes first", seen(beside()), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"the younger waits", seen(beside(younger)), "AddFinalizer"},
		{"of two of one age the same one wins in every holder's eyes", seen(beside(func(s *Seen) { s.Trigger.CreationTimestamp = metav1.NewTime(now) })), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"who holds is not displaced by an older one", seen(held, beside()), "Wait | Ready=True/Succeeded Held=True/Suspended"},
		{"an apply in flight goes before who holds", seen(held, beside(inFlight, finalizer)), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"an apply in flight is followed whoever stands in line", seen(held, operation("Running"), resumedWith(t1), beside()), "Wait 5m0s | Ready=True/Succeeded Held=True/Applying | Request Running"},
		{"an older one that may not hold keeps nobody out", seen(beside(func(s *Seen) { s.KubeProvider = nil })), "AddFinalizer"},
		{"an older one nobody names keeps nobody out", seen(beside(verdict(v1alpha1.ReasonNotReferenced))), "AddFinalizer"},
		{"an older one that goes and never began keeps nobody out", seen(beside(deleting)), "AddFinalizer"},
		{"one that hands back is waited for, though nobody names it any more", seen(beside(finalizer, verdict(v1alpha1.ReasonNotReferenced))), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"and one that was suspended again as well", seen(held, beside(finalizer), flapped("flux"), heldBy(other)), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"who does not hold any more leaves a resume to who does", seen(held, heldBy(other), beside(finalizer), resumedBy("flux"), func(s *Seen) {
			owners(s, "flux", "Update", "holdfast", "Apply")
		}), "Wait 1m0s | Ready=False/HeldByAnotherTrigger Held=False/NotConfigured"},
		{"who never began hands nothing of another's back", seen(suspended("x"), handled("x"), heldBy(""), beside(finalizer), deleting, func(s *Seen) { s.Trigger.Finalizers = nil }), "Wait"},
		{"what no other can have left is handed back, though every mark of this one's was wiped", seen(suspended("x"), handled("x"), heldBy(""), deleting, func(s *Seen) { s.Trigger.Finalizers = nil }), "Release guarded again event Released | Ready=False/Releasing Held=False/Releasing"},
	})
}

func TestAManagerThatAppliesSuspendIsNotFought(t *testing.T) { // B13
	const parent = "field manager kustomize-controller (Apply)"
	applied := func(suspend bool) edit {
		return func(s *Seen) {
			s.Kustomization.Spec.Suspend = suspend
			owner("kustomize-controller", "Apply")(s)
		}
	}
	before := func(ago time.Duration, by string) edit {
		return func(s *Seen) {
			at := instant(now.Add(-ago))
			s.Trigger.Status.History = []v1alpha1.Operation{{Origin: v1alpha1.OriginExternal, By: by, Phase: "Succeeded", ApplierUID: "k-uid", FinishedAt: &at}}
		}
	}
	newest := func(op v1alpha1.Operation) edit {
		return func(s *Seen) {
			s.Trigger.Status.History = append([]v1alpha1.Operation{op}, s.Trigger.Status.History...)
		}
	}
	refused := "Wait 1m0s event SuspendOwnedElsewhere | Ready=False/SuspendOwnedElsewhere Held=False/NotConfigured"
	takes := "Suspend fresh event ResumedElsewhere | Ready=False/OperationUnresolved Held=False/Suspending | External Unresolved fresh"
	check(t, []row{
		{"what it suspends itself is not taken over", seen(finalizer, applied(true)), refused},
		{"what it keeps resumed is not adopted", seen(applied(false)), refused},
		{"what it suspends while held is its own from then on", seen(held, applied(true)), refused},
		{"the first time it resumes a held one, that is taken back: it may not know", seen(held, applied(false)), takes},
		{"put back within the hour, it is left alone", seen(held, applied(false), before(59*time.Minute, parent)), refused},
		{"after an hour it is tried again", seen(held, applied(false), before(time.Hour, parent)), takes},
		{"another manager's turn counts for itself", seen(held, applied(false), before(time.Minute, "field manager argo (Apply)")), takes},
		{"also when something else was applied in between", seen(held, applied(false), before(time.Minute, parent), newest(v1alpha1.Operation{Origin: v1alpha1.OriginRequest, Phase: "Succeeded"})), refused},
		{"also when two such managers take turns", seen(held, applied(false), before(2*time.Minute, parent), newest(v1alpha1.Operation{Origin: v1alpha1.OriginExternal, By: "field manager argo (Apply)", FinishedAt: &v1Now})), refused},
		{"a request is answered while it is refused", seen(held, applied(false), before(time.Minute, parent), request("r1", c1)), refused + " | answer r1 Rejected"},
		{"it is told once", seen(held, applied(false), before(time.Minute, parent), func(s *Seen) {
			status.Set(&s.Trigger.Status.Conditions, v1alpha1.ConditionConfigured, "False", v1alpha1.ReasonSuspendOwnedElsewhere, 3, now, "")
		}), strings.Replace(refused, " event SuspendOwnedElsewhere", "", 1)},
		{"in the middle of an operation it is suspended all the same", seen(held, operation("Running"), applied(false)), "Suspend fresh event ResumedElsewhere | Ready=True/Succeeded Held=True/Applying | Request Settling fresh"},
		{"a hand-back leaves the field to it", seen(held, applied(true), deleting), "GiveUp guarded again event Released | Ready=False/SuspendOwnedElsewhere Held=False/Releasing"},
	})

	s := seen(held, externalOp(parent), suspended(t2), handled(t2))
	got := Decide(s).Status
	if len(got.History) != 1 || got.History[0].Phase != v1alpha1.OperationFailed || got.History[0].By != parent {
		t.Errorf("nothing ran, and so the next time would count as the first again: %+v", got.History)
	}
}

func TestWhatTheHoldStandsOnIsNotHeld(t *testing.T) { // B9
	const allowed = "Suspend fresh guarded | Ready=False/Suspending Held=False/Suspending"
	const refused = "Wait 1m0s | Ready=False/SelfManaged Held=False/NotConfigured"
	rows := []row{}
	for id, want := range map[string]string{
		"flux-system_kustomize-controller_apps_Deployment":                                          refused,
		"flux-system_kustomize-controller-shard1_apps_Deployment":                                   refused,
		"flux-system_source-controller_apps_Deployment":                                             refused,
		"_flux-system__Namespace":                                                                   refused,
		"_kustomizations.kustomize.toolkit.fluxcd.io_apiextensions.k8s.io_CustomResourceDefinition": refused,
		"_fluxtriggers.holdfast.dev_apiextensions.k8s.io_CustomResourceDefinition":                  refused,
		"holdfast-system_holdfast-gitmirror_apps_Deployment":                                        refused,
		"_holdfast-injector_admissionregistration.k8s.io_MutatingWebhookConfiguration":              refused,
		"team_kustomize-controller_apps_Deployment":                                                 allowed,
		"_team__Namespace": allowed,
		"flux-system_kustomize-controller__ServiceAccount":                   allowed,
		"_widgets.example.com_apiextensions.k8s.io_CustomResourceDefinition": allowed,
		"team_web_apps_Deployment":                                           allowed,
		"not an id":                                                          allowed,
	} {
		rows = append(rows,
			row{"by " + id, seen(finalizer, inventory("team_web__ConfigMap", id)), want},
			row{"allowed by the trigger: " + id, seen(finalizer, inventory(id), func(s *Seen) { s.Trigger.Spec.SelfManaged = v1alpha1.SelfManagedAllow }), allowed})
	}
	check(t, rows)
}
