package controller

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestAnOperationIsCountedAndItsPhasesTimed(t *testing.T) {
	s := newStage(t)
	registry := prometheus.NewRegistry()
	var err error
	if s.r.Metrics, err = NewMetrics(registry, s.store); err != nil {
		t.Fatal(err)
	}
	s.hold()
	s.request("r1")
	s.pass()
	s.fluxWrites(starts)
	s.pass()
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.pass()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, m := range f.Metric {
			line := f.GetName()
			for _, l := range m.Label {
				line += " " + l.GetValue()
			}
			got = append(got, fmt.Sprintf("%s %v", line, m.GetCounter().GetValue()+m.GetGauge().GetValue()+float64(m.GetHistogram().GetSampleCount())))
		}
	}
	want := []string{
		"holdfast_holder_held 1",
		"holdfast_holder_operations_total Succeeded Applied 1",
		"holdfast_holder_phase_seconds Requested 1",
		"holdfast_holder_phase_seconds Running 1",
		"holdfast_holder_phase_seconds Settling 1",
		"holdfast_holder_taken_back_total 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
