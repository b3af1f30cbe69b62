package statuspage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// stage is one of the steps every operation goes through, for the page.
type stage struct {
	Name string
	How  string // done, now, todo, missed; the verdict: good, bad
	Say  string // what How means here, for whoever does not see it
	At   *metav1.Time
	Took string // since the last instant before
}

// Hows of a stage.
const (
	done   = "done"
	doing  = "now"
	todo   = "todo"
	missed = "missed"
)

// stages returns how far op went: recorded, resumed, started, suspended, handled, verdict. Only three of these leave an
// instant in the trigger's status. Whether a run started is told by what came after: the suspend is sent when a start is
// seen, or when none was in time, and then the verdict says so.
func stages(op v1alpha1.Operation) []stage {
	final, sent := op.Phase.Final(), op.SuspendToken != ""
	nothing := op.Result == v1alpha1.ReasonNothingRan
	external := op.Origin == v1alpha1.OriginExternal

	all := []stage{{Name: "recorded", How: done, At: &op.RequestedAt}}
	add := func(name string, happened bool, at *metav1.Time) {
		s := stage{Name: name, How: missed, At: at}
		switch {
		case happened:
			s.How = done
		case !final && all[len(all)-1].How == done:
			s.How = doing
		case !final:
			s.How = todo
		}
		all = append(all, s)
	}
	if external {
		all[0].Name = "noticed"
	}
	add("resumed", op.StartedAt != nil || external, op.StartedAt)
	if op.Origin == v1alpha1.OriginDeletion {
		add("pruned", op.Phase == v1alpha1.OperationSucceeded, nil)
	} else {
		add("started", op.Phase == v1alpha1.OperationSucceeded || final && !nothing && op.StartedAt != nil || sent && !final, nil)
		add("suspended", sent, nil)
		add("handled", final && sent && op.Abandoned == "" && !gone(op), nil)
	}
	end := stage{Name: "verdict", How: todo, At: op.FinishedAt}
	switch op.Phase {
	case v1alpha1.OperationSucceeded:
		end.Name, end.How = "succeeded", "good"
	case v1alpha1.OperationFailed:
		end.Name, end.How = "failed", "bad"
	default:
		if all[len(all)-1].How == done {
			end.How = doing
		}
	}
	all = append(all, end)
	var last *metav1.Time
	for i := range all {
		s := &all[i]
		s.Say = map[string]string{done: "done", doing: "waiting for this now", todo: "not yet", missed: "not seen"}[s.How]
		if s.At == nil {
			continue
		}
		if last != nil {
			s.Took = "+" + spent(s.At.Sub(last.Time))
		}
		last = s.At
	}
	return all
}

// gone says that the verdict was found because the applier is no more.
func gone(op v1alpha1.Operation) bool {
	return op.Result == v1alpha1.ReasonApplierNotFound
}

// spent returns a duration in whole seconds. Negative is nothing.
func spent(d time.Duration) string { return max(0, d).Round(time.Second).String() }
