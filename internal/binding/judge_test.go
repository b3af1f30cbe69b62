package binding

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func trigger() *v1alpha1.FluxTrigger {
	return &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app"}}
}

// target writes branch main of git.example/team/app for trigger app, changed by the edits.
func target(name string, edits ...func(*Candidate)) Candidate {
	c := Candidate{
		Target: v1alpha1.GitTarget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name},
			Spec: v1alpha1.GitTargetSpec{
				GitProviderRef:  v1alpha1.LocalReference{Name: "repo"},
				Branch:          "main",
				ApplyTriggerRef: &v1alpha1.ApplyTriggerReference{Kind: "FluxTrigger", Name: "app"},
			},
		},
		Provider: &v1alpha1.GitProvider{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "repo"},
			Spec:       v1alpha1.GitProviderSpec{URL: "https://git.example/team/app", AllowedBranches: []string{"main", "dev"}},
		},
	}
	for _, e := range edits {
		e(&c)
	}
	return c
}

func noProvider(c *Candidate)   { c.Provider = nil }
func otherBranch(c *Candidate)  { c.Target.Spec.Branch = "dev" }
func otherRepo(c *Candidate)    { c.Provider.Spec.URL = "https://u:hunter2@git.example/team/other" }
func otherCluster(c *Candidate) { c.Target.Spec.KubeProviderRef.Name = "edge" }
func sameCluster(c *Candidate)  { c.Target.Spec.KubeProviderRef.Name = "default" }
func elsewhere(c *Candidate)    { c.Target.Namespace = "other" }
func otherTrigger(c *Candidate) { c.Target.Spec.ApplyTriggerRef.Name = "app2" }
func notAllowed(c *Candidate)   { c.Target.Spec.Branch = "wild" }
func noTrigger(c *Candidate)    { c.Target.Spec.ApplyTriggerRef = nil }
func deleting(c *Candidate) {
	c.Target.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
}

func TestJudge(t *testing.T) {
	source := &Source{URL: "ssh://git@GIT.example/team/app.git", Branch: "main"}
	tests := []struct {
		name       string
		source     *Source
		candidates []Candidate
		want       v1alpha1.Reason
		refused    bool
		says       []string
	}{
		{"nobody names it", source, nil, v1alpha1.ReasonNotReferenced, false, []string{"spec.applyTriggerRef"}},
		{"a target that writes what is fetched binds it", source, []Candidate{target("a")}, v1alpha1.ReasonSucceeded, false, []string{"a"}},
		{"an absent kubeProviderRef is default", source, []Candidate{target("a", sameCluster)}, v1alpha1.ReasonSucceeded, false, nil},
		{"one that fits is enough, and the others are named", source, []Candidate{target("b", otherBranch), target("a")}, v1alpha1.ReasonSucceeded, false, []string{"bound by GitTarget a", "GitTarget b"}},
		{"another branch", source, []Candidate{target("a", otherBranch)}, v1alpha1.ReasonSourceMismatch, true, []string{"spec.branch", "dev", "main"}},
		{"another repository", source, []Candidate{target("a", otherRepo)}, v1alpha1.ReasonSourceMismatch, true, []string{"spec.url", "git.example/team/other"}},
		{"another cluster", source, []Candidate{target("a", otherCluster)}, v1alpha1.ReasonNotBound, true, []string{"spec.kubeProviderRef", "edge"}},
		{"another cluster, whatever is fetched", nil, []Candidate{target("a", otherCluster)}, v1alpha1.ReasonNotBound, true, []string{"edge"}},
		{"a branch its GitProvider does not allow", source, []Candidate{target("a", notAllowed)}, v1alpha1.ReasonNotBound, true, []string{"wild", "spec.allowedBranches"}},
		{"refused for several reasons", source, []Candidate{target("b", otherRepo), target("a", otherCluster)}, v1alpha1.ReasonNotBound, true, []string{"GitTarget a", "GitTarget b"}},
		{"refused by the source alone", source, []Candidate{target("b", otherRepo), target("a", otherBranch)}, v1alpha1.ReasonSourceMismatch, true, []string{"GitTarget a", "GitTarget b"}},
		{"a missing GitProvider may still come", source, []Candidate{target("a", noProvider)}, v1alpha1.ReasonNotBound, false, []string{"spec.gitProviderRef", "repo"}},
		{"an unknown source may still come", nil, []Candidate{target("a")}, v1alpha1.ReasonNotBound, false, []string{"GitTarget a"}},
		{"one undecided outweighs one refused, and both are named", source, []Candidate{target("b", otherBranch), target("a", noProvider)}, v1alpha1.ReasonNotBound, false, []string{"GitTarget a", "GitTarget b"}},
		{"a target in another namespace does not count", source, []Candidate{target("a", elsewhere)}, v1alpha1.ReasonNotReferenced, false, nil},
		{"a target of another trigger does not count", source, []Candidate{target("a", otherTrigger)}, v1alpha1.ReasonNotReferenced, false, nil},
		{"and hides none that comes after it", source, []Candidate{target("b", otherTrigger), target("a")}, v1alpha1.ReasonSucceeded, false, []string{"bound by GitTarget a"}},
		{"a target of no trigger does not count", source, []Candidate{target("a", noTrigger)}, v1alpha1.ReasonNotReferenced, false, nil},
		{"a target being deleted does not count", source, []Candidate{target("a", deleting)}, v1alpha1.ReasonNotReferenced, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Judge(trigger(), tt.source, tt.candidates)
			if got.Reason != tt.want || got.Bound != (tt.want == v1alpha1.ReasonSucceeded) || got.Refused != tt.refused {
				t.Errorf("got %+v, want %s, refused %t", got, tt.want, tt.refused)
			}
			for _, s := range tt.says {
				if !strings.Contains(got.Message, s) {
					t.Errorf("message %q does not say %q", got.Message, s)
				}
			}
			if strings.Contains(got.Message, "hunter2") {
				t.Errorf("a password is in the message %q", got.Message)
			}
		})
	}
}

func TestTheOrderOfCandidatesDoesNotMatter(t *testing.T) {
	a, b, c := target("a", otherBranch), target("b", otherRepo), target("c", noProvider)
	source := &Source{URL: "https://git.example/team/app", Branch: "main"}
	if x, y := Judge(trigger(), source, []Candidate{a, b, c}), Judge(trigger(), source, []Candidate{c, b, a}); x != y {
		t.Errorf("%+v\n%+v", x, y)
	}
}

func TestWhoBindsAloneIsNamedAlone(t *testing.T) {
	source := &Source{URL: "https://git.example/team/app", Branch: "main"}
	if m := Judge(trigger(), source, []Candidate{target("b"), target("a")}).Message; m != "bound by GitTarget a, b" {
		t.Errorf("got %q", m)
	}
}
