package stats

import (
	"math"
	"testing"
	"time"
)

func ms(values ...int) Sample {
	var s Sample
	for _, v := range values {
		s = append(s, time.Duration(v)*time.Millisecond)
	}
	return s
}

func upTo(n int) Sample {
	var s Sample
	for v := n; v >= 1; v-- {
		s = append(s, time.Duration(v)*time.Millisecond)
	}
	return s
}

func TestMedianIsTheMiddle(t *testing.T) {
	for _, row := range []struct {
		rule string
		of   Sample
		want time.Duration
	}{
		{"none of nothing", nil, 0},
		{"one value is its own median", ms(7), 7 * time.Millisecond},
		{"the middle one, whatever the order", ms(9, 1, 5), 5 * time.Millisecond},
		{"between the middle two of an even number", ms(8, 1, 2, 100), 5 * time.Millisecond},
		{"one that was very slow does not move it", ms(1, 2, 3, 4, 100000), 3 * time.Millisecond},
	} {
		if got := row.of.Median(); got != row.want {
			t.Errorf("%s: got %s, want %s", row.rule, got, row.want)
		}
	}
}

func TestP95IsTheNearestRank(t *testing.T) {
	for _, row := range []struct {
		rule string
		of   Sample
		want time.Duration
	}{
		{"none of nothing", nil, 0},
		{"the only value", ms(7), 7 * time.Millisecond},
		{"the largest of fewer than 20", upTo(19), 19 * time.Millisecond},
		{"the second largest of 20", upTo(20), 19 * time.Millisecond},
		{"the 95th of 100", upTo(100), 95 * time.Millisecond},
	} {
		if got := row.of.P95(); got != row.want {
			t.Errorf("%s: got %s, want %s", row.rule, got, row.want)
		}
	}
}

func TestP99IsTheNearestRank(t *testing.T) {
	for _, row := range []struct {
		rule string
		of   Sample
		want time.Duration
	}{
		{"none of nothing", nil, 0},
		{"the largest of few", ms(1, 9, 3), 9 * time.Millisecond},
		{"the one below the largest of a hundred", upTo(100), 99 * time.Millisecond},
		{"the third largest of two hundred", upTo(200), 198 * time.Millisecond},
	} {
		if got := row.of.P99(); got != row.want {
			t.Errorf("%s: got %s, want %s", row.rule, got, row.want)
		}
	}
}

func TestASampleKeepsItsOrder(t *testing.T) {
	s := ms(3, 1, 2)
	s.Median()
	s.P95()
	if s[0] != 3*time.Millisecond || s[1] != time.Millisecond {
		t.Errorf("summing up sorted the sample in place: %v", s)
	}
}

func TestRatioComparesMedians(t *testing.T) {
	if got := Ratio(ms(300, 100, 9000), ms(150, 200, 1)); got != 2 {
		t.Errorf("got %v, want 300 over 150", got)
	}
	if got := Ratio(ms(1), nil); !math.IsInf(got, 1) {
		t.Errorf("against nothing: got %v, want infinity", got)
	}
}

func TestAGoalIsMetAsPrinted(t *testing.T) {
	for _, row := range []struct {
		rule  string
		ratio float64
		want  bool
	}{
		{"below it", 1.2, true},
		{"at it", 1.3, true},
		{"at it as printed", 1.3049, true},
		{"above it as printed", 1.3051, false},
		{"never by infinity", math.Inf(1), false},
	} {
		if got := Meets(row.ratio, 1.3); got != row.want {
			t.Errorf("%s: got %t", row.rule, got)
		}
	}
}
