package status

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 987654321, time.UTC)

func TestSet(t *testing.T) {
	second := metav1.NewTime(t0.Truncate(time.Second))
	old := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.NewTime(t0.Add(-time.Hour).Truncate(time.Second))}
	tests := []struct {
		name   string
		before []metav1.Condition
		status metav1.ConditionStatus
		want   metav1.Condition
	}{
		{
			"a new condition begins now, in whole seconds", nil, metav1.ConditionTrue,
			metav1.Condition{Type: "Ready", Status: "True", Reason: "Progressing", ObservedGeneration: 3, LastTransitionTime: second, Message: "step 1"},
		},
		{
			"the same status keeps its transition time while reason and message move", []metav1.Condition{old}, metav1.ConditionTrue,
			metav1.Condition{Type: "Ready", Status: "True", Reason: "Progressing", ObservedGeneration: 3, LastTransitionTime: old.LastTransitionTime, Message: "step 1"},
		},
		{
			"another status begins now", []metav1.Condition{old}, metav1.ConditionFalse,
			metav1.Condition{Type: "Ready", Status: "False", Reason: "Progressing", ObservedGeneration: 3, LastTransitionTime: second, Message: "step 1"},
		},
		{
			"a condition without a time gets one", []metav1.Condition{{Type: "Ready", Status: "True"}}, metav1.ConditionTrue,
			metav1.Condition{Type: "Ready", Status: "True", Reason: "Progressing", ObservedGeneration: 3, LastTransitionTime: second, Message: "step 1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conds := tt.before
			Set(&conds, v1alpha1.ConditionReady, tt.status, v1alpha1.ReasonProgressing, 3, t0, "step %d", 1)
			if diff := cmp.Diff([]metav1.Condition{tt.want}, conds); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetLeavesTheOtherConditionsAndTheirOrder(t *testing.T) {
	conds := []metav1.Condition{{Type: "Held"}, {Type: "Ready"}, {Type: "Configured"}}
	Set(&conds, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, 1, t0, "")
	var got []string
	for _, c := range conds {
		got = append(got, c.Type)
	}
	if diff := cmp.Diff([]string{"Held", "Ready", "Configured"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestClearTakesOutOneCondition(t *testing.T) {
	conds := []metav1.Condition{{Type: "Stalled", Status: "True"}, {Type: "Ready"}}
	Clear(&conds, v1alpha1.ConditionStalled)
	if Get(conds, v1alpha1.ConditionStalled) != nil || Get(conds, v1alpha1.ConditionReady) == nil {
		t.Errorf("left %v", conds)
	}
}

func TestIsTrueOnlyForAConditionThatSaysTrue(t *testing.T) {
	conds := []metav1.Condition{{Type: "Ready", Status: "True"}, {Type: "Held", Status: "Unknown"}}
	if !IsTrue(conds, v1alpha1.ConditionReady) || IsTrue(conds, v1alpha1.ConditionHeld) || IsTrue(conds, v1alpha1.ConditionStalled) {
		t.Error("want Ready alone to be true")
	}
}

func TestMessage(t *testing.T) {
	if got := Message("said: %s", "100% of 5%s"); got != "said: 100% of 5%s" {
		t.Errorf("an argument is not a format: got %q", got)
	}
	for _, long := range []string{strings.Repeat("a", 5000), strings.Repeat("é", 5000), "x" + strings.Repeat("日本", 5000)} {
		got := Message("%s", long)
		if len(got) > MaxMessage || len(got) < MaxMessage-4 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("cut to %d bytes, valid %v, end %q", len(got), utf8.ValidString(got), got[len(got)-6:])
		}
	}
	if got := Message("%s", "a\xffb"); got != "a\uFFFDb" {
		t.Errorf("invalid bytes reach nobody: got %q", got)
	}
}
