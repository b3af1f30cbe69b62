package main

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-gitops/holdfast/test/bench/stats"
)

func times(name string, ms ...int) named {
	n := named{name: name}
	for _, v := range ms {
		n.took = append(n.took, time.Duration(v)*time.Millisecond)
	}
	return n
}

func TestALineSaysBothMediansTheRatioAndWhetherTheGoalIsMet(t *testing.T) {
	for _, row := range []struct {
		rule string
		a, b named
		goal float64
		want string
	}{
		{"within the goal", times("held", 412), times("bare", 301), 2,
			"held cycle: held 412 ms (p95 412 ms), bare 301 ms (p95 301 ms), ratio 1.37 (goal 2.00: met)"},
		{"beyond the goal", times("held", 900), times("bare", 300), 2,
			"held cycle: held 900 ms (p95 900 ms), bare 300 ms (p95 300 ms), ratio 3.00 (goal 2.00: MISSED)"},
		{"without a goal", times("held", 9), times("bare", 3), 0,
			"held cycle: held 9.0 ms (p95 9.0 ms), bare 3.0 ms (p95 3.0 ms), ratio 3.00"},
	} {
		if got := compare("held cycle", row.a, row.b, row.goal); got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.rule, got, row.want)
		}
	}
}

func TestAPhaseNobodySawCountsAsPartOfTheNext(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	all := laps{
		{begin: begin, end: at(60), marks: map[string]time.Time{"a": at(10), "b": at(30), "c": at(60)}},
		{begin: begin, end: at(90), marks: map[string]time.Time{"a": at(10), "c": at(90)}},
	}
	want := map[string]stats.Sample{"a": times("", 10, 10).took, "b": times("", 20).took, "c": times("", 30, 80).took}
	for _, p := range all.phases([]string{"a", "b", "c"}) {
		if len(p.took) != len(want[p.name]) || p.took.Median() != want[p.name].Median() {
			t.Errorf("phase %s: got %v, want %v", p.name, p.took, want[p.name])
		}
	}
}

func TestAMarkKeepsTheFirstTime(t *testing.T) {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := lap{marks: map[string]time.Time{}}
	l.mark("a", first)
	l.mark("a", first.Add(time.Second))
	if !l.marks["a"].Equal(first) {
		t.Errorf("got %s", l.marks["a"])
	}
}

func TestEditsAreSpreadOverTheAuditPeriod(t *testing.T) {
	const parts = 5
	seen := map[int]int{}
	for round := range 20 {
		p := phase(round)
		if p < 0 || p >= auditPeriod {
			t.Fatalf("round %d waits %s, outside the period", round, p)
		}
		seen[int(p*parts/auditPeriod)]++
	}
	for part := range parts {
		if n := seen[part]; n < 3 || n > 5 {
			t.Errorf("fifth %d of the period has %d of 20 edits, want about 4", part+1, n)
		}
	}
}

const scrape = `# HELP rest_client_requests_total Number of HTTP requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="127.0.0.1:1",method="GET"} 7
rest_client_requests_total{code="409",host="127.0.0.1:1",method="PATCH"} 2
rest_client_requests_total_created{code="200"} 1.7e+09
process_cpu_seconds_total 0.25
`

func TestASumTakesEverySeriesOfItsMetricAndNoOther(t *testing.T) {
	s, err := parseMetrics(strings.NewReader(scrape))
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]float64{requestsTotal: 9, cpuSeconds: 0.25, "absent": 0} {
		if got := s.sum(metric); got != want {
			t.Errorf("%s: got %v, want %v", metric, got, want)
		}
	}
	if _, err := parseMetrics(strings.NewReader("a_total many\n")); err == nil {
		t.Error("a sample without a number was taken")
	}
}
