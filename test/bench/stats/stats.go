// Package stats sums up durations that were measured again and again: median, 95th and 99th percentile, ratio. It prints nothing
// and judges nothing but whether a ratio is within its goal.
package stats

import (
	"math"
	"slices"
	"time"
)

// Sample is how long one thing took, each time it was measured. Its methods leave it as it is; all are zero when it is empty.
type Sample []time.Duration

// Median is the middle value, and of an even number of values the mean of the middle two.
func (s Sample) Median() time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return sorted[middle-1] + (sorted[middle]-sorted[middle-1])/2
}

// P95 is the smallest measured value that at least 95 of 100 values do not exceed (nearest rank). Of fewer than 20 values
// that is the largest.
func (s Sample) P95() time.Duration { return s.percentile(0.95) }

// P99 is the smallest measured value that at least 99 of 100 values do not exceed (nearest rank). Of fewer than 100 values
// that is the largest.
func (s Sample) P99() time.Duration { return s.percentile(0.99) }

func (s Sample) percentile(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[rank-1]
}

// Ratio is the median of a in medians of b; infinite when b has none or takes no time.
func Ratio(a, b Sample) float64 {
	if b.Median() == 0 {
		return math.Inf(1)
	}
	return float64(a.Median()) / float64(b.Median())
}

// Meets says whether a ratio is within its goal as it is printed, to two decimals, so that the words never contradict the
// number beside them.
func Meets(ratio, goal float64) bool { return math.Round(ratio*100) <= math.Round(goal*100) }
