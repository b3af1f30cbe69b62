package hold

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		name   string
		before edit // what the Kustomization said when the operation was recorded
		after  edit // what changed since
		want   v1alpha1.Reason
		says   string
	}{
		{"a run that applied the commit", nil, ran, v1alpha1.ReasonApplied, rev(c1)},
		{"a handled token alone proves nothing (B10)", nil, handled(t2), v1alpha1.ReasonNothingRan, "no run"},
		{"observedGeneration proves nothing (B11)", nil, func(s *Seen) { s.Kustomization.Status.ObservedGeneration = s.Kustomization.Generation }, v1alpha1.ReasonNothingRan, "no run"},
		{"a commit applied before the operation proves nothing", nil, applied(rev(c1)), v1alpha1.ReasonNothingRan, "no run"},
		{"the same run within one second is seen by its total", nil, historyTop("d1", "ReconciliationSucceeded", 5), v1alpha1.ReasonApplied, rev(c1)},
		{"a new digest begins at one", nil, historyTop("d2", "ReconciliationSucceeded", 1), v1alpha1.ReasonApplied, rev(c1)},
		{"Ready moved and no run is in the history", nil, ready("True", "ReconciliationSucceeded"), v1alpha1.ReasonNothingRan, "status.history"},
		{"a Flux without history is judged by Ready", historyTop("", "", 0), ready("True", "ReconciliationSucceeded"), v1alpha1.ReasonApplied, rev(c1)},
		{"a Flux without history that did not run", historyTop("", "", 0), handled(t2), v1alpha1.ReasonNothingRan, "no run"},
		{"the first run of all", all(historyTop("", "", 0), func(s *Seen) { s.Kustomization.Status.Conditions = nil }), ran, v1alpha1.ReasonApplied, rev(c1)},
		{"a dependency that is not ready (B10)", nil, ready("False", "DependencyNotReady"), v1alpha1.ReasonNotReady, "DependencyNotReady: said by Flux"},
		{"an artifact that is missing (B10)", nil, ready("False", "ArtifactFailed"), v1alpha1.ReasonNotReady, "ArtifactFailed"},
		{"a build that failed leaves no history", nil, ready("False", "BuildFailed"), v1alpha1.ReasonNotReady, "BuildFailed"},
		{"a health check that was cancelled", nil, ready("False", "HealthCheckCanceled"), v1alpha1.ReasonNotReady, "HealthCheckCanceled"},
		{"a health check that failed", nil, all(ready("False", "HealthCheckFailed"), historyTop("d2", "HealthCheckFailed", 1)), v1alpha1.ReasonNotReady, "HealthCheckFailed"},
		{"a controller that died in the run leaves Ready Unknown", nil, ready("Unknown", "Progressing"), v1alpha1.ReasonNotReady, "Unknown"},
		{"a run that was cut off in the second the baseline was taken in", nil, func(s *Seen) {
			s.Kustomization.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "Progressing", LastTransitionTime: past}}
		}, v1alpha1.ReasonNotReady, "Unknown"},
		{"no Ready at all", nil, func(s *Seen) { s.Kustomization.Status.Conditions = nil }, v1alpha1.ReasonNotReady, "no Ready"},
		{"Ready is True and the history says otherwise, as two writes can", nil, historyTop("d2", "PruneFailed", 1), v1alpha1.ReasonNotReady, "PruneFailed"},
		{"another commit than the source holds", nil, all(ran, applied(rev(c2))), v1alpha1.ReasonRevisionMismatch, c2},
		{"another commit that the source holds now", nil, all(ran, applied(rev(c2)), artifact(c2)), v1alpha1.ReasonApplied, "the branch went on"},
		{"another commit that a source of somebody else holds now", nil, all(ran, applied(rev(c2)), artifact(c2), verdict(v1alpha1.ReasonSourceMismatch)), v1alpha1.ReasonRevisionMismatch, c2},
		{"an older commit while the source holds the right one", nil, all(ran, applied(rev(c2)), artifact(c1)), v1alpha1.ReasonRevisionMismatch, c1},
		{"no commit applied and no artifact are no match", nil, all(ran, applied(""), artifact("")), v1alpha1.ReasonRevisionMismatch, c1},
		{"the finalizer pass of an object Flux sees first records the token", historyTop("", "", 0), handled(t1), v1alpha1.ReasonNothingRan, "no run"},
		{"a token recorded on a return before the run, with Ready as it was", ready("False", "DependencyNotReady"), handled(t1), v1alpha1.ReasonNothingRan, "no run"},
		{"access to the source denied", nil, ready("False", "AccessDenied"), v1alpha1.ReasonNotReady, "AccessDenied"},
		{"a health expression that is wrong", nil, all(ready("False", "InvalidCELExpression"), func(s *Seen) { s.Kustomization.Status.ObservedGeneration = s.Kustomization.Generation }), v1alpha1.ReasonNotReady, "InvalidCELExpression"},
		{"an apply that failed", nil, all(ready("False", "ReconciliationFailed"), historyTop("d2", "ReconciliationFailed", 1)), v1alpha1.ReasonNotReady, "ReconciliationFailed"},
		{"a prune that failed", nil, all(ready("False", "PruneFailed"), historyTop("d2", "PruneFailed", 1)), v1alpha1.ReasonNotReady, "PruneFailed"},
		{"the commit was applied and its health failed: the revision stays the old one", nil, all(ready("False", "HealthCheckFailed"), historyTop("d2", "HealthCheckFailed", 1), applied(rev(c2))), v1alpha1.ReasonNotReady, "HealthCheckFailed"},
		{"Ready could not be written, and the rest says success", nil, all(historyTop("d1", "ReconciliationSucceeded", 5), ready("Unknown", "Progressing")), v1alpha1.ReasonNotReady, "Unknown"},
		{"Ready was False before and could not be written, and the rest says success", ready("False", "BuildFailed"), historyTop("d1", "ReconciliationSucceeded", 5), v1alpha1.ReasonNotReady, "BuildFailed"},
		{"Ready Unknown left over from before, and nothing ran", ready("Unknown", "Progressing"), handled(t2), v1alpha1.ReasonNothingRan, "no run"},
		{"Ready Unknown left over from before, and a run went well", ready("Unknown", "Progressing"), ran, v1alpha1.ReasonApplied, rev(c1)},
		{"the same failure within the same second leaves no trace", ready("False", "BuildFailed"), ready("False", "BuildFailed"), v1alpha1.ReasonNothingRan, "no run"},
		{"the last attempted revision proves nothing", nil, func(s *Seen) { s.Kustomization.Status.LastAttemptedRevision = rev(c1) }, v1alpha1.ReasonNothingRan, "no run"},
		{"an inventory proves nothing", nil, inventory("team_a__ConfigMap"), v1alpha1.ReasonNothingRan, "no run"},
		{"Reconciling says progress, and nothing came of it", nil, progressing(8), v1alpha1.ReasonNothingRan, "no run"},
		{"the same status of history with another digest is another build of the same commit", nil, historyTop("d9", "ReconciliationSucceeded", 4), v1alpha1.ReasonApplied, rev(c1)},
		{"a cached source applied an older commit than the one fetched", nil, all(ran, applied(rev(c2)), artifact(c1)), v1alpha1.ReasonRevisionMismatch, c2},
		{"T1 is never seen when the suspend landed first, and T2 alone proves nothing", nil, all(handled(t2), requestedAt(t2)), v1alpha1.ReasonNothingRan, "no run"},
		{"a short hash of the commit is not the commit", nil, all(ran, applied("main@sha1:"+c1[:7])), v1alpha1.ReasonRevisionMismatch, c1},
		{"the same commit as a bare revision", nil, all(ran, applied("sha1:"+c1)), v1alpha1.ReasonApplied, c1},
		{"the same commit under another ref name", nil, all(ran, applied("refs/heads/main@sha1:"+c1)), v1alpha1.ReasonApplied, c1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := seen(suspended(t2))
			if tt.before != nil {
				tt.before(&s)
			}
			operation(v1alpha1.OperationSettling)(&s)
			tt.after(&s)
			got := Judge(s.Trigger.Status.Operation, s.Kustomization, s.tip())
			phase := v1alpha1.OperationFailed
			if tt.want == v1alpha1.ReasonApplied {
				phase = v1alpha1.OperationSucceeded
			}
			if got.Reason != tt.want || got.Phase != phase || !strings.Contains(got.Message, tt.says) {
				t.Errorf("got %+v; want %s %s saying %q", got, phase, tt.want, tt.says)
			}
		})
	}
}

func TestABaselineOfAnEmptyStatusEqualsItself(t *testing.T) {
	s := seen(func(s *Seen) { s.Kustomization.Status.Conditions, s.Kustomization.Status.History = nil, nil })
	if b := BaselineOf(s.Kustomization); traces(b, s.Kustomization) {
		t.Errorf("baseline %+v moved against itself", b)
	}
	if ready := (v1alpha1.Baseline{ReadyTransition: &metav1.Time{Time: now}, ReadyReason: "Progressing"}); !traces(ready, s.Kustomization) {
		t.Error("a Ready that vanished did not move")
	}
}
