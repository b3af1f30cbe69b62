package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/test/bench/stats"
)

// table is the lines at the end: each result with what explains it.
type table struct{ results []result }

// result is one line, and the lines below it.
type result struct {
	line    string
	details []string
}

func (t *table) add(line string, details ...string) {
	t.results = append(t.results, result{line, details})
}

func (t *table) print(out io.Writer) {
	fmt.Fprintln(out, "\nMedians of runs that took turns:")
	for _, r := range t.results {
		fmt.Fprintf(out, "\n%s\n", r.line)
		for _, d := range r.details {
			fmt.Fprintf(out, "    %s\n", d)
		}
	}
}

// named is a sample with what it is called in a line.
type named struct {
	name string
	took stats.Sample
}

// compare is one line of the table: `held cycle, 1 object: held 412 ms (p95 500), bare 301 ms (p95 340), ratio 1.37 (goal
// 2.00: met)`. No goal is 0.
func compare(what string, a, b named, goal float64) string {
	ratio := stats.Ratio(a.took, b.took)
	line := fmt.Sprintf("%s: %s, %s, ratio %.2f", what, a, b, ratio)
	switch {
	case goal == 0:
		return line
	case stats.Meets(ratio, goal):
		return line + fmt.Sprintf(" (goal %.2f: met)", goal)
	}
	return line + fmt.Sprintf(" (goal %.2f: MISSED)", goal)
}

func (n named) String() string { return n.name + " " + summary(n.took) }

// summary is median and 95th percentile.
func summary(s stats.Sample) string { return fmt.Sprintf("%s (p95 %s)", ms(s.Median()), ms(s.P95())) }

// ms is a duration in whole milliseconds, or in tenths of one below 10.
func ms(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}

// breakdown says where the time of a cycle goes, phase by phase. Medians of parts do not add up to the median of the whole.
func breakdown(what string, phases []named) string {
	parts := make([]string, len(phases))
	for i, p := range phases {
		parts[i] = fmt.Sprintf("%s %s", p.name, ms(p.took.Median()))
	}
	return what + ": " + strings.Join(parts, " | ")
}
