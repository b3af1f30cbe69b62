package hold

import (
	"testing"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestAStoppingHolderSuspends(t *testing.T) {
	orphaned := func(s *Seen) { s.Trigger.Spec.OnDelete = v1alpha1.OnDeleteOrphan }
	tests := []struct {
		name string
		seen Seen
		want bool
	}{
		{"what it resumed and follows", seen(held, operation("Running"), resumedWith(t1)), true},
		{"what it resumed and did not write down yet", seen(held, operation("Requested"), resumedWith(t1)), true},
		{"nothing that is recorded and not resumed", seen(held, operation("Requested")), false},
		{"nothing that is suspended already", seen(suspended(t2), operation("Running")), false},
		{"what it resumed and somebody else stamped", seen(held, operation("Running"), resumedWith("by-hand")), true},
		{"nothing that somebody else resumed, for the next holder to tell", seen(held, operation("Settling"), resumedBy("flux")), false},
		{"nothing that is finished", seen(held, finished("Succeeded"), resumedWith("t0")), false},
		{"nothing without an operation", seen(held, resumedWith(t1)), false},
		{"nothing that was made anew", seen(held, operation("Running"), resumedWith(t1), anotherUID), false},
		{"nothing that is gone", seen(held, operation("Running"), noKustomization), false},
		{"nothing that is being deleted, whose prune hangs on suspend (B12)", seen(held, operation("Running"), resumedWith(t1), func(s *Seen) { s.Kustomization.DeletionTimestamp = &past }), false},
		{"what is being deleted and is to prune nothing (B12)", seen(held, operation("Running"), resumedWith(t1), kDeleting(ours, fluxs), orphaned), true},
		{"nothing that prunes already, though it was to prune nothing since", seen(held, resumedWith(t1), deletionOp("Running"), kDeleting(ours, fluxs), orphaned), false},
		{"nothing that goes whatever is done", seen(held, operation("Running"), resumedWith(t1), kDeleting(fluxs), orphaned), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ResumedByUs(tt.seen.Trigger, tt.seen.Kustomization); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
