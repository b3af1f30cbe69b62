package controller

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
	"github.com/holdfast-gitops/holdfast/sidecar/notify"
)

// meter is Metrics of its own, and the registry to read them from.
type meter struct {
	t *testing.T
	*Metrics
	registry *prometheus.Registry
}

func newMeter(t *testing.T, s *stage) meter {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, s.store)
	if err != nil {
		t.Fatal(err)
	}
	return meter{t, m, registry}
}

// read returns every sample that is not 0: name and label values, and the count of a histogram for its value.
func (m meter) read() []string {
	m.t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		m.t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, s := range f.Metric {
			line := f.GetName()
			for _, l := range s.Label {
				line += " " + l.GetValue()
			}
			if v := s.GetCounter().GetValue() + s.GetGauge().GetValue() + float64(s.GetHistogram().GetSampleCount()); v != 0 {
				got = append(got, fmt.Sprintf("%s %v", strings.TrimPrefix(line, "holdfast_holder_"), v))
			}
		}
	}
	return got
}

func TestAnOperationIsCountedAndItsPhasesTimed(t *testing.T) {
	s := newStage(t)
	m := newMeter(t, s)
	s.r.Metrics = m.Metrics
	s.hold()
	s.request("r1")
	s.pass()
	s.fluxWrites(starts)
	s.pass()
	s.fluxWrites(succeeds)
	s.fluxWrites(handlesToken)
	s.pass()
	want := []string{
		"held 1",
		"operations_total Request Succeeded Applied 1",
		"phase_seconds Requested 1",
		"phase_seconds Running 1",
		"phase_seconds Settling 1",
		"requests_answered_total Succeeded 1",
	}
	if diff := cmp.Diff(want, m.read()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatATurnOfTheStatusCounts(t *testing.T) {
	op := func(token string, phase v1alpha1.OperationPhase, origin v1alpha1.OperationOrigin) *v1alpha1.Operation {
		return &v1alpha1.Operation{Token: token, Phase: phase, Origin: origin}
	}
	answer := func(id string, o v1alpha1.RequestOutcome) *v1alpha1.HandledRequest {
		return &v1alpha1.HandledRequest{ID: id, Outcome: o}
	}
	type st = v1alpha1.FluxTriggerStatus
	for name, row := range map[string]struct {
		before, now st
		reason      v1alpha1.Reason
		want        []string
	}{
		"an operation that failed": {
			st{Operation: op("t1", "Settling", "Request")}, st{Operation: op("t1", "Failed", "Request")}, v1alpha1.ReasonNotReady,
			[]string{"operations_total Request Failed NotReady 1"},
		},
		"one that applied another revision": {
			st{Operation: op("t1", "Settling", "Request")}, st{Operation: op("t1", "Failed", "Request")}, v1alpha1.ReasonRevisionMismatch,
			[]string{"operations_total Request Failed RevisionMismatch 1", "revision_mismatches_total 1"},
		},
		"one of somebody else": {
			st{Operation: op("t1", "Unresolved", "External")}, st{Operation: op("t1", "Succeeded", "External")}, v1alpha1.ReasonResumedElsewhere,
			[]string{"operations_total External Succeeded ResumedElsewhere 1"},
		},
		"one that was over before is not counted again": {
			st{Operation: op("t1", "Failed", "Request")}, st{Operation: op("t1", "Failed", "Request")}, v1alpha1.ReasonRevisionMismatch, nil,
		},
		"one that is put back because a record was withdrawn is not counted again": {
			st{Operation: op("t2", "Requested", "Request")}, st{Operation: op("t1", "Succeeded", "Request")}, v1alpha1.ReasonApplying, nil,
		},
		"one that goes on is not counted": {
			st{Operation: op("t1", "Running", "Request")}, st{Operation: op("t1", "Settling", "Request")}, v1alpha1.ReasonApplying, nil,
		},
		"the first answer": {
			st{}, st{LastHandledRequest: answer("r1", "Current")}, "", []string{"requests_answered_total Current 1"},
		},
		"an answer that takes another's place": {
			st{LastHandledRequest: answer("r1", "Current")}, st{LastHandledRequest: answer("r2", "Stale")}, "", []string{"requests_answered_total Stale 1"},
		},
		"an answer that was there": {
			st{LastHandledRequest: answer("r1", "Current")}, st{LastHandledRequest: answer("r1", "Current")}, "", nil,
		},
		"another answer to the same request": {
			st{LastHandledRequest: answer("r1", "Rejected")}, st{LastHandledRequest: answer("r1", "Succeeded")}, "", []string{"requests_answered_total Succeeded 1"},
		},
		"an answer to a person": {
			st{}, st{LastHandledManual: answer("m1", "Rejected")}, "", []string{"requests_answered_total Rejected 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeter(t, newStage(t))
			trigger := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{UID: "uid"}, Status: row.before}
			m.observe(hold.Seen{Now: time.Now(), Trigger: trigger}, hold.Action{Status: &row.now, Reason: row.reason})
			got := slices.DeleteFunc(m.read(), func(l string) bool { return strings.HasPrefix(l, "phase_seconds") })
			if diff := cmp.Diff(row.want, got, cmp.Transformer("empty", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPhaseIsTimedOnlyFromABeginningThisProcessSaw(t *testing.T) {
	m := newMeter(t, newStage(t))
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	turn := func(uid types.UID, before, after v1alpha1.OperationPhase, seconds int) {
		phase := func(p v1alpha1.OperationPhase) v1alpha1.FluxTriggerStatus {
			return v1alpha1.FluxTriggerStatus{Operation: &v1alpha1.Operation{Token: "t1", Phase: p, Origin: "Request"}}
		}
		st := phase(after)
		m.observe(hold.Seen{
			Now:     now.Add(time.Duration(seconds) * time.Second),
			Trigger: &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{UID: uid}, Status: phase(before)},
		}, hold.Action{Status: &st, Reason: v1alpha1.ReasonApplying})
	}
	turn("found running", "Running", "Running", 0)
	turn("found running", "Running", "Settling", 5) // Running began before this process did
	turn("seen", "Requested", "Running", 0)
	turn("seen", "Running", "Running", 1)
	turn("seen", "Running", "Settling", 7)
	turn("clock set back", "Requested", "Running", 100)
	turn("clock set back", "Running", "Settling", 0)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.Metric {
			if h := s.GetHistogram(); h != nil && (s.Label[0].GetValue() != "Running" || h.GetSampleCount() != 2 || h.GetSampleSum() != 7) {
				t.Errorf("%s: %d phases of %v s in all, want two Running ones of 7 and 0", s.Label[0].GetValue(), h.GetSampleCount(), h.GetSampleSum())
			}
		}
	}
	gone := hold.Seen{Trigger: &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{UID: "seen"}}}
	before := len(m.entered)
	m.observe(gone, hold.Action{Verb: hold.RemoveFinalizer})
	if len(m.entered) != before-1 {
		t.Errorf("of a trigger that is gone something is kept: %v", m.entered)
	}
}

func TestWhatIsSoNowIsCountedAtEachScrape(t *testing.T) {
	s := newStage(t)
	m := newMeter(t, s)
	for i, phase := range []v1alpha1.OperationPhase{"Unresolved", "Unresolved", "Settling", "Failed"} {
		f := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprint("other-", i)}}
		if err := s.store.Create(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		f.Status.Operation = &v1alpha1.Operation{Phase: phase}
		f.Status.Conditions = []metav1.Condition{{Type: "Held", Status: "True"}}
		if i == 3 {
			f.Status.Conditions[0].Status = "False"
		}
		if err := s.store.Status().Update(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"held 3", "unresolved 2"}, m.read()); diff != "" {
		t.Error(diff)
	}
}

func TestPostsAreCountedByWhatBecameOfThem(t *testing.T) {
	m := newMeter(t, newStage(t))
	m.Posted(notify.Delivered)
	m.Posted(notify.QueueFull)
	m.Posted(notify.QueueFull)
	if diff := cmp.Diff([]string{"event_posts_total Delivered 1", "event_posts_total QueueFull 2"}, m.read()); diff != "" {
		t.Error(diff)
	}
}

func TestMetricsAreNamedAsPrometheusAsks(t *testing.T) {
	m := newMeter(t, newStage(t))
	m.operations.WithLabelValues("Succeeded", "Applied", "Request").Inc() // a vector without samples is not gathered
	m.phases.WithLabelValues("Running").Observe(1)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != len(described(m)) {
		t.Fatalf("%d of %d metrics are looked at", len(families), len(described(m)))
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

var desc = regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: {([^}]*)}`)

// described returns every registered metric as the documentation writes it.
func described(m meter) []string {
	all := make(chan *prometheus.Desc, 100)
	m.registry.Describe(all)
	close(all)
	var names []string
	for d := range all {
		p := desc.FindStringSubmatch(d.String())
		name := p[1]
		if p[2] != "" {
			name += "{" + p[2] + "}"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestTheDocumentationListsEveryMetricOfTheHolderAndNoOther(t *testing.T) {
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## The holder\n")
	if !ok {
		t.Fatal("docs/metrics.md has no section The holder")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(holdfast_[^`]*)`").FindAllStringSubmatch(section, -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	if diff := cmp.Diff(listed, described(newMeter(t, newStage(t)))); diff != "" {
		t.Errorf("docs/metrics.md (-listed +registered):\n%s", diff)
	}
	values := []string{}
	for _, o := range answers {
		values = append(values, string(o))
	}
	for _, o := range notify.Outcomes() {
		values = append(values, string(o))
	}
	for _, v := range append(values, "Manual", "External", "Deletion", "Requested", "Running", "Settling", "Unresolved") {
		if !strings.Contains(section, "`"+v+"`") {
			t.Errorf("docs/metrics.md does not say what %s means", v)
		}
	}
}
