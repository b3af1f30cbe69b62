package hold

import (
	"strings"
	"testing"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAHandBackThatTheServerTakesNotHasAnEndFromTheFirstTryOn(t *testing.T) {
	for _, row := range []struct {
		says string
		s    Seen
		want bool
	}{
		{"of a trigger being deleted", seen(held, deleting), true},
		{"of one nobody names", seen(held, verdict(v1alpha1.ReasonNotReferenced)), true},
		{"not of one that goes on to hold", seen(held), false},
	} {
		t.Run(row.says, func(t *testing.T) {
			act := Denied(row.s, Action{Verb: Release}, "policy says no", false)
			if got := act.Status != nil && act.Status.ReleasingSince != nil; got != row.want {
				t.Fatalf("since when it is handed back is noted: %v, want %v", got, row.want)
			}
			if row.want && !strings.Contains(tellProgress(act.Status), "policy says no") {
				t.Errorf("why is not said: %s", tellProgress(act.Status))
			}
		})
	}
}

func tellProgress(st *v1alpha1.FluxTriggerStatus) string {
	for _, c := range st.Conditions {
		if c.Type == string(v1alpha1.ConditionReconciling) {
			return c.Message
		}
	}
	return ""
}
