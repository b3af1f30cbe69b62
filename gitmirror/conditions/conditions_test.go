package conditions

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/apply"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// conds is a condition list of one.
func conds(t v1alpha1.ConditionType, s metav1.ConditionStatus, r v1alpha1.Reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: string(t), Status: s, Reason: string(r), Message: message}}
}

// working is a target that mirrors; each row breaks one thing.
func working(change ...func(*TargetSeen)) TargetSeen {
	ready := conds(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "")
	s := TargetSeen{
		Now: noon,
		Target: &v1alpha1.GitTarget{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 7},
			Spec: v1alpha1.GitTargetSpec{
				GitProviderRef: v1alpha1.LocalReference{Name: "repo"}, KubeProviderRef: v1alpha1.KubeProviderReference{Name: "default"},
				Branch: "main", Path: "apps", ApplyTriggerRef: &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: "web"},
			},
		},
		Provider: &v1alpha1.GitProvider{
			ObjectMeta: metav1.ObjectMeta{Name: "repo"},
			Spec:       v1alpha1.GitProviderSpec{URL: "https://git.example/repo", AllowedBranches: []string{"main", "release/*"}},
			Status:     v1alpha1.GitProviderStatus{Conditions: ready},
		},
		KubeProvider: &v1alpha1.KubeProvider{},
		Trigger:      &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: v1alpha1.FluxTriggerStatus{Conditions: ready}},
		Rules:        1,
		Streams:      []Stream{{Resource: "deployments.apps", Synced: true}},
		Pushed:       "abc",
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func TestTargetSaysWhatStopsIt(t *testing.T) {
	stalled, passing := v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling
	noHolder := conds(v1alpha1.ConditionHolderAvailable, metav1.ConditionFalse, v1alpha1.ReasonHolderMissing, "nobody is there")
	for _, row := range []struct {
		says   string
		seen   TargetSeen
		reason v1alpha1.Reason
		how    v1alpha1.ConditionType
		names  string // the message must hold it
	}{
		{"nothing stops it", working(), v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its KubeProvider is not there", working(func(s *TargetSeen) { s.KubeProvider = nil }),
			v1alpha1.ReasonKubeProviderNotFound, stalled, "spec.kubeProviderRef"},
		{"its GitProvider is not there", working(func(s *TargetSeen) { s.Provider = nil }),
			v1alpha1.ReasonGitProviderNotFound, stalled, "spec.gitProviderRef"},
		{"its branch is not allowed", working(func(s *TargetSeen) { s.Target.Spec.Branch = "wild" }),
			v1alpha1.ReasonBranchNotAllowed, stalled, "allowedBranches"},
		{"a star matches no slash", working(func(s *TargetSeen) { s.Target.Spec.Branch = "release/1/2" }),
			v1alpha1.ReasonBranchNotAllowed, stalled, "release/1/2"},
		{"a branch under a glob is allowed", working(func(s *TargetSeen) { s.Target.Spec.Branch = "release/1" }),
			v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its folder cannot be edited", working(func(s *TargetSeen) { s.PathErr = "it holds a kustomization.yaml" }),
			v1alpha1.ReasonPathNotAccepted, stalled, "kustomization.yaml"},
		{"its GitProvider is refused, and says so itself", working(func(s *TargetSeen) {
			s.Provider.Status.Conditions = conds(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAuthenticationFailed, "401")
		}), v1alpha1.ReasonGitProviderNotReady, stalled, "AuthenticationFailed"},
		{"its GitProvider has not been looked at", working(func(s *TargetSeen) { s.Provider.Status.Conditions = nil }),
			v1alpha1.ReasonGitProviderNotReady, passing, "repo"},
		{"no rule names it", working(func(s *TargetSeen) { s.Rules = 0 }), v1alpha1.ReasonNoWatchRule, stalled, "WatchRule"},
		{"no rule names it, but a fault that would outlast a rule goes first", working(func(s *TargetSeen) { s.Rules, s.Trigger = 0, nil }),
			v1alpha1.ReasonApplyTriggerNotFound, stalled, "spec.applyTriggerRef"},
		{"what passes by itself does not hide what somebody has to mend", working(func(s *TargetSeen) {
			s.Provider.Status.Conditions = nil
			s.Streams[0] = Stream{Resource: "x.y", Denied: true, Err: "forbidden"}
		}), v1alpha1.ReasonForbidden, stalled, "x.y"},
		{"a resource may not be watched", working(func(s *TargetSeen) { s.Streams[0] = Stream{Resource: "x.y", Denied: true, Err: "forbidden"} }),
			v1alpha1.ReasonForbidden, stalled, "x.y"},
		{"edits that cannot be written keep the applier waiting, and that is said", working(func(s *TargetSeen) { s.PathErr = "it is a symlink" }),
			v1alpha1.ReasonPathNotAccepted, stalled, "no apply is asked for"},
		{"so do edits that would not be seen", working(func(s *TargetSeen) { s.Streams[0] = Stream{Resource: "x.y", Denied: true, Err: "forbidden"} }),
			v1alpha1.ReasonForbidden, stalled, "no apply is asked for"},
		{"without a trigger nobody waits", working(func(s *TargetSeen) { s.Target.Spec.ApplyTriggerRef, s.Trigger, s.PathErr = nil, nil, "it is a symlink" }),
			v1alpha1.ReasonPathNotAccepted, stalled, "edits are kept until it can be written"},
		{"a stream has not listed yet", working(func(s *TargetSeen) { s.Streams[0].Synced = false }),
			v1alpha1.ReasonProgressing, passing, "deployments.apps"},
		{"the repository takes no commits", working(func(s *TargetSeen) { s.PushErr = "hook says no" }),
			v1alpha1.ReasonPushFailed, stalled, "hook says no"},
		{"edits that wait a moment leave it ready", working(func(s *TargetSeen) { s.Pending = true }),
			v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its trigger is not there", working(func(s *TargetSeen) { s.Trigger = nil }),
			v1alpha1.ReasonApplyTriggerNotFound, stalled, "spec.applyTriggerRef"},
		{"its trigger has not seen it", working(func(s *TargetSeen) {
			s.Trigger.Status.Conditions = conds(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNotReferenced, "")
		}), v1alpha1.ReasonNotReferenced, passing, "holder"},
		{"its trigger has not seen it, and no holder runs that could", working(func(s *TargetSeen) { s.Trigger.Status.Conditions = noHolder }),
			v1alpha1.ReasonNotReferenced, passing, "nobody is there"},
		{"nobody answers for its trigger, whatever that says of itself", working(func(s *TargetSeen) {
			s.Trigger.Status.Conditions = append(slices.Clone(noHolder), s.Trigger.Status.Conditions...)
		}), v1alpha1.ReasonHolderMissing, stalled, "nobody is there"},
		{"another repository is said before a missing holder", working(func(s *TargetSeen) {
			s.Trigger.Status.Conditions = append(slices.Clone(noHolder), s.Trigger.Status.Conditions...)
			s.Trigger.Status.Source = &v1alpha1.TriggerSource{URL: "https://git.example/other.git", Branch: "main"}
		}), v1alpha1.ReasonSourceMismatch, stalled, "git.example/other"},
		{"a holder answers", working(func(s *TargetSeen) {
			s.Trigger.Status.Conditions = append(conds(v1alpha1.ConditionHolderAvailable, metav1.ConditionTrue, v1alpha1.ReasonHolderRunning, ""), s.Trigger.Status.Conditions...)
		}), v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its KubeProvider does not admit its namespace", working(func(s *TargetSeen) { s.KubeProvider.Spec.AccessFrom = &v1alpha1.AccessFrom{} }),
			v1alpha1.ReasonNamespaceNotAuthorized, stalled, "spec.accessFrom"},
		{"its KubeProvider admits it by a label", working(func(s *TargetSeen) {
			s.Labels = map[string]string{"team": "a"}
			s.KubeProvider.Spec.AccessFrom = &v1alpha1.AccessFrom{NamespaceSelectors: []v1alpha1.NamespaceSelector{{MatchLabels: s.Labels}}}
		}), v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its trigger holds an applier that fetches another repository", working(func(s *TargetSeen) {
			s.Trigger.Status.Source = &v1alpha1.TriggerSource{URL: "https://git.example/other.git", Branch: "main"}
		}), v1alpha1.ReasonSourceMismatch, stalled, "git.example/other"},
		{"its trigger holds an applier that follows another branch", working(func(s *TargetSeen) {
			s.Trigger.Status.Source = &v1alpha1.TriggerSource{URL: "https://git.example/repo", Branch: "release/1"}
		}), v1alpha1.ReasonSourceMismatch, stalled, "release/1"},
		{"its trigger holds the applier of its folder, by another spelling", working(func(s *TargetSeen) {
			s.Trigger.Status.Source = &v1alpha1.TriggerSource{URL: "ssh://git@git.example/repo.git", Branch: "main"}
		}), v1alpha1.ReasonSucceeded, "", "mirrored"},
		{"its trigger is stalled", working(func(s *TargetSeen) {
			s.Trigger.Status.Conditions = append(
				conds(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonApplierNotFound, "no Kustomization"),
				conds(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonApplierNotFound, "")...)
		}), v1alpha1.ReasonApplierNotFound, stalled, "no Kustomization"},
	} {
		t.Run(row.says, func(t *testing.T) {
			got := Target(row.seen)
			ready := status.Get(got.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != string(row.reason) || !strings.Contains(ready.Message, row.names) {
				t.Errorf("Ready is %s: %q, want %s naming %q", ready.Reason, ready.Message, row.reason, row.names)
			}
			for _, c := range []v1alpha1.ConditionType{stalled, passing} {
				if has := status.IsTrue(got.Conditions, c); has != (c == row.how) {
					t.Errorf("%s is %t, want it only on %q", c, has, row.how)
				}
			}
			said := status.Get(got.Conditions, v1alpha1.ConditionApplyTriggerReady)
			if unknown := said != nil && said.Status == metav1.ConditionUnknown; unknown != (row.reason == v1alpha1.ReasonNotReferenced) {
				t.Errorf("ApplyTriggerReady is %+v", said)
			}
			if got.ObservedGeneration != 7 || got.Commit != "abc" {
				t.Errorf("status is of generation %d, commit %q", got.ObservedGeneration, got.Commit)
			}
		})
	}
}

func TestTargetWithoutATriggerHasNoConditionForOne(t *testing.T) {
	got := Target(working(func(s *TargetSeen) { s.Target.Spec.ApplyTriggerRef, s.Trigger = nil, nil }))
	if status.Get(got.Conditions, v1alpha1.ConditionApplyTriggerReady) != nil {
		t.Error("ApplyTriggerReady is set")
	}
	if !status.IsTrue(got.Conditions, v1alpha1.ConditionReady) {
		t.Error("not Ready")
	}
}

func TestKubeProviderWithoutAuditIsReadyAndSaysWhatIsMissing(t *testing.T) { // B39
	got := KubeProvider(&v1alpha1.KubeProvider{}, false, noon)
	if !status.IsTrue(got.Conditions, v1alpha1.ConditionReady) {
		t.Error("not Ready")
	}
	audit := status.Get(got.Conditions, v1alpha1.ConditionAuditFactsReceived)
	if audit.Status != metav1.ConditionFalse || !strings.Contains(audit.Message, "--audit-webhook-config-file") {
		t.Errorf("AuditFactsReceived is %s: %q", audit.Status, audit.Message)
	}
	if got = KubeProvider(&v1alpha1.KubeProvider{}, true, noon); !status.IsTrue(got.Conditions, v1alpha1.ConditionAuditFactsReceived) {
		t.Error("AuditFactsReceived is not True with facts")
	}
	got = KubeProvider(&v1alpha1.KubeProvider{Status: got}, false, noon)
	if audit = status.Get(got.Conditions, v1alpha1.ConditionAuditFactsReceived); audit.Status != metav1.ConditionTrue || !strings.Contains(audit.Message, "none has since") {
		t.Errorf("after a restart AuditFactsReceived is %s: %q", audit.Status, audit.Message)
	}
}

func TestFactsAreExpectedOnceAnyClusterHasSentOne(t *testing.T) {
	sent := v1alpha1.KubeProviderStatus{Conditions: conds(v1alpha1.ConditionAuditFactsReceived, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "")}
	silent := v1alpha1.KubeProviderStatus{Conditions: conds(v1alpha1.ConditionAuditFactsReceived, metav1.ConditionFalse, v1alpha1.ReasonNoAuditEvents, "")}
	for _, row := range []struct {
		says string
		all  []v1alpha1.KubeProvider
		next v1alpha1.KubeProviderStatus
		want bool
	}{
		{"none has", []v1alpha1.KubeProvider{{Status: silent}}, silent, false},
		{"this one has now", []v1alpha1.KubeProvider{{Status: silent}}, sent, true},
		{"another one has", []v1alpha1.KubeProvider{{Status: silent}, {Status: sent}}, silent, true},
	} {
		if got := ExpectFacts(row.all, row.next); got != row.want {
			t.Errorf("%s: %t, want %t", row.says, got, row.want)
		}
	}
}

func TestATriggersHolderIsAsClaimedOrAsItWas(t *testing.T) {
	trigger := func(conds []metav1.Condition) *v1alpha1.FluxTrigger {
		return &v1alpha1.FluxTrigger{Status: v1alpha1.FluxTriggerStatus{Conditions: conds}}
	}
	others := conds(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "")
	if got := Trigger(trigger(others), apply.HolderClaim{}, noon); got != nil {
		t.Errorf("of nothing known it says %+v", got)
	}
	got := Trigger(trigger(others), apply.HolderClaim{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHolderMissing, Message: "gone"}, noon)
	if len(got) != 1 || got[0].Reason != string(v1alpha1.ReasonHolderMissing) || HolderMissing(got) == nil {
		t.Errorf("it says %+v", got)
	}
	if kept := Trigger(trigger(append(got, others...)), apply.HolderClaim{}, noon.Add(time.Hour)); !equality.Semantic.DeepEqual(kept, got) {
		t.Errorf("it was %+v and is %+v", got, kept)
	}
}
