package main

import (
	"time"

	"github.com/holdfast-gitops/holdfast/test/bench/stats"
)

// lap is one measured cycle.
type lap struct {
	begin, end time.Time
	marks      map[string]time.Time // when each phase ended, by its name
}

func (l *lap) took() time.Duration { return l.end.Sub(l.begin) }

// mark notes the end of a phase, the first time it is seen.
func (l *lap) mark(phase string, at time.Time) {
	if _, seen := l.marks[phase]; !seen {
		l.marks[phase] = at
	}
}

// laps is the measured cycles of one side.
type laps []lap

func (ls laps) took() stats.Sample {
	var s stats.Sample
	for _, l := range ls {
		s = append(s, l.took())
	}
	return s
}

// until is how long it took from the beginning to the end of the phase.
func (ls laps) until(phase string) stats.Sample {
	var s stats.Sample
	for _, l := range ls {
		if at, ok := l.marks[phase]; ok {
			s = append(s, at.Sub(l.begin))
		}
	}
	return s
}

// phases is how long each phase took after the one before it. One that was never seen by itself counts as part of the next.
func (ls laps) phases(names []string) []named {
	all := make([]named, len(names))
	for i, name := range names {
		all[i].name = name
	}
	for _, l := range ls {
		last := l.begin
		for i, name := range names {
			if at, ok := l.marks[name]; ok {
				all[i].took = append(all[i].took, at.Sub(last))
				last = at
			}
		}
	}
	return all
}
