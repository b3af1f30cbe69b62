package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/sim/flux"
)

// Each guard of the holder has the one course of events that it is there for. Without the guard the course breaks a promise.
func TestGuards(t *testing.T) {
	running := func(w *World) bool {
		return len(w.Truth.Runs) > 0 && !w.Truth.Runs[len(w.Truth.Runs)-1].Ended && w.trigger().Status.Operation != nil
	}
	during := func(what string) deed {
		d := deedNamed(what)
		d.when = running
		return d
	}
	early := deedNamed("flux suspend")
	early.when = func(w *World) bool {
		k, f := w.applier(), w.trigger()
		return f.Status.Operation != nil && f.Status.Operation.Origin == v1alpha1.OriginManual && !k.Spec.Suspend
	}
	request, push := deedNamed("a request to apply"), deedNamed("a push, and a request")
	for _, tt := range []struct {
		guard string
		plan  plan
	}{
		{"an operation is recorded before it is resumed", plan{deeds: []deed{request}}},
		{"what was resumed is suspended at the start of the run", plan{deeds: []deed{push, during("a push")}}},
		{"a resume that arrives late finds the Kustomization changed", plan{
			deeds: []deed{request, push}, named: map[string]fate{"applies Kustomization: finalizers, annotations, suspend false": comesLate},
		}},
		{"what was applied before the record proves nothing", plan{
			deeds: []deed{request, deedNamed("a person asks for the tip to be applied"), early},
		}},
		{"a suspend is sent again when another kustomize-controller leads", plan{
			deeds: []deed{request, push, during("another kustomize-controller leads, and the old one does not know")}, slow: "pod-1_1",
		}},
	} {
		t.Run(tt.guard, func(t *testing.T) {
			tt.plan.seed, tt.plan.quick = 1, true
			w, err := run(tt.plan, newVisits(), true)
			if err != nil {
				t.Fatalf("%s\n\n%v", strings.Join(w.told.lines, "\n"), err)
			}
			if w.unmet != 0 {
				t.Error("the trouble this is about never came")
			}
			if last := lastRun(w); !last.Full {
				t.Errorf("nothing was applied in the end: %+v", last)
			}
		})
	}
}

func lastRun(w *World) flux.Run {
	if len(w.Truth.Runs) == 0 {
		return flux.Run{}
	}
	return *w.Truth.Runs[len(w.Truth.Runs)-1]
}
