package hold

import (
	"fmt"
	"testing"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// kustomize-controller reads sources from a cache of its own. One that is behind runs what was there before.
func TestARunOfAnOlderArtifact(t *testing.T) {
	// mismatches puts so many operations of the request into the history that ended alike, newest first.
	mismatches := func(id string, origin v1alpha1.OperationOrigin, n int) edit {
		return func(s *Seen) {
			for i := range n {
				s.Trigger.Status.History = append(s.Trigger.Status.History, v1alpha1.Operation{
					Token: fmt.Sprint("before-", i), RequestID: id, Origin: origin, Phase: v1alpha1.OperationFailed, Commit: c1, ApplierUID: "k-uid", Result: v1alpha1.ReasonRevisionMismatch,
				})
			}
		}
	}
	newest := func(s *Seen) { // what the history begins with is the operation in the status
		o := s.Trigger.Status.History[0]
		s.Trigger.Status.Operation = &o
	}
	settled := all(suspended(t2), operation("Settling"), handled(t2), ran, applied(rev(c2)))
	manual := op(func(o *v1alpha1.Operation) { o.Origin, o.RequestID = v1alpha1.OriginManual, "manual-a" })
	check(t, []row{
		{"is not the answer while the source holds what was asked for, and is no news", seen(held, settled),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2"},
		{"nor is it a person's answer", seen(held, settled, manual),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | Manual Failed holdfast-t2"},
		{"is tried once more", seen(held, request("r1", c1), mismatches("r1", v1alpha1.OriginRequest, 1), newest),
			"Wait again | Ready=False/ApplyFailed Held=True/Applying | Request Requested"},
		{"a second time is no answer either", seen(held, settled, mismatches("r1", v1alpha1.OriginRequest, 1)),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2"},
		{"a third time is, and is told", seen(held, settled, mismatches("r1", v1alpha1.OriginRequest, 2)),
			"Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2 | answer r1 Failed"},
		{"a third time is a person's answer too", seen(held, settled, manual, mismatches("manual-a", v1alpha1.OriginManual, 2)),
			"Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Manual Failed holdfast-t2 | manual Failed"},
		{"those of another request do not count", seen(held, settled, mismatches("r0", v1alpha1.OriginRequest, 2)),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2"},
		{"is the answer when the source has gone on meanwhile", seen(held, request("r1", c1), artifact(c2), mismatches("r1", v1alpha1.OriginRequest, 1), newest),
			"Wait | Ready=False/ApplyFailed Held=True/Suspended | Request Failed | answer r1 Failed"},
		{"is the answer when the source holds something else already", seen(held, settled, artifact("")),
			"Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2 | answer r1 Failed"},
		{"is the answer when the trigger hands back", seen(held, settled, deleting),
			"Wait event ApplyFailed | Ready=False/Releasing Held=False/Releasing | Request Failed holdfast-t2 | answer r1 Failed"},
		{"is not made again of another failure", seen(held, suspended(t2), operation("Settling"), handled(t2), ready("False", "BuildFailed")),
			"Wait event ApplyFailed | Ready=False/ApplyFailed Held=True/Suspended | Request Failed holdfast-t2 | answer r1 Failed"},
	})
}
