package apply

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestFoldIsAsBusyAsTheBusiestTarget(t *testing.T) {
	quiet := Target{Branch: "main", Tip: tip, QuietSince: noon}
	for _, row := range []struct {
		says  string
		other Target
		want  Branch
	}{
		{"both quiet", Target{Branch: "main", Tip: tip}, Branch{Name: "main", Tip: tip, QuietSince: noon}},
		{"an edit in hand of one", Target{Branch: "main", Tip: tip, Busy: true}, Branch{Name: "main", Tip: tip, Busy: true, QuietSince: noon}},
		{"a resource of one is not watched", Target{Branch: "main", Tip: tip, Blind: true}, Branch{Name: "main", Tip: tip, Busy: true, QuietSince: noon}},
		{"the later of two", Target{Branch: "main", Tip: tip, QuietSince: noon.Add(time.Second)}, Branch{Name: "main", Tip: tip, QuietSince: noon.Add(time.Second)}},
		{"every foreign move", Target{Branch: "main", Tip: tip, ForeignMoves: 2}, Branch{Name: "main", Tip: tip, QuietSince: noon, ForeignMoves: 2}},
	} {
		t.Run(row.says, func(t *testing.T) {
			for _, order := range [][]Target{{quiet, row.other}, {row.other, quiet}} {
				if diff := cmp.Diff(row.want, Fold(order)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
		})
	}
	if got := Fold(nil); got != (Branch{}) {
		t.Errorf("no target at all is %+v", got)
	}
}

func TestMemoryCountsEachAnswerOnce(t *testing.T) {
	type answer struct {
		id, commit string
		outcome    v1alpha1.RequestOutcome
	}
	for _, row := range []struct {
		says    string
		answers []answer
		want    int
	}{
		{"a failure", []answer{{"r1", tip, v1alpha1.OutcomeFailed}}, 1},
		{"a failure seen again", []answer{{"r1", tip, v1alpha1.OutcomeFailed}, {"r1", tip, v1alpha1.OutcomeFailed}}, 1},
		{"two failures in a row", []answer{{"r1", tip, v1alpha1.OutcomeFailed}, {"r2", tip, v1alpha1.OutcomeRequestFailed}}, 2},
		{"a success ends the row", []answer{{"r1", tip, v1alpha1.OutcomeFailed}, {"r2", tip, v1alpha1.OutcomeSucceeded}}, 0},
		{"so does an apply that was not needed", []answer{{"r1", tip, v1alpha1.OutcomeFailed}, {"r2", tip, v1alpha1.OutcomeCurrent}}, 0},
		{"another commit begins a new row", []answer{{"r1", old, v1alpha1.OutcomeFailed}, {"r2", tip, v1alpha1.OutcomeFailed}}, 1},
	} {
		t.Run(row.says, func(t *testing.T) {
			var m Memory
			for _, a := range row.answers {
				m = m.answered(&v1alpha1.ApplyRequest{ID: a.id, Commit: a.commit}, &v1alpha1.HandledRequest{ID: a.id, Outcome: a.outcome}, noon)
			}
			if m.failures != row.want || (m.failures > 0) != m.failedAt.Equal(noon) {
				t.Errorf("%d failures, the last at %v; want %d", m.failures, m.failedAt, row.want)
			}
		})
	}
	var none Memory
	if m := none.answered(&v1alpha1.ApplyRequest{ID: "r2"}, &v1alpha1.HandledRequest{ID: "r1", Outcome: v1alpha1.OutcomeFailed}, noon); m != none {
		t.Errorf("an answer to an older request is counted: %+v", m)
	}
}
