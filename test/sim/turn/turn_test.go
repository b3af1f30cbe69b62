package turn

import (
	"slices"
	"testing"
	"time"
)

func TestWorkGivesWayBetweenItsEffects(t *testing.T) {
	var done []string
	work := func(name string) *Task {
		return Begin(name, func(pause Pause) {
			done = append(done, name+" 1")
			pause(name+" 2", When{})
			done = append(done, name+" 2")
		})
	}
	a, b := work("a"), work("b")
	a.Go()
	b.Go()
	if a.Next() != "a 2" || a.Ended() {
		t.Errorf("a is paused before %q, ended %v", a.Next(), a.Ended())
	}
	b.Go()
	a.Go()
	if want := []string{"a 1", "b 1", "b 2", "a 2"}; !slices.Equal(done, want) {
		t.Errorf("got %v", done)
	}
	if !a.Ended() || !b.Ended() {
		t.Error("both have ended")
	}
}

func TestKilledWorkDoesNothingMore(t *testing.T) {
	effects := 0
	task := Begin("x", func(pause Pause) {
		effects++
		pause("second", When{})
		effects++
	})
	task.Go()
	task.Kill()
	if effects != 1 || !task.Ended() {
		t.Errorf("%d effects, ended %v", effects, task.Ended())
	}
}

func TestWorkThatWaits(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	open := false
	task := Begin("x", func(pause Pause) { pause("later", When{Until: at, Or: func() bool { return open }}) })
	task.Go()
	if task.ReadyAt(at.Add(-time.Second)) {
		t.Error("ready too early")
	}
	if !task.ReadyAt(at) {
		t.Error("not ready in time")
	}
	open = true
	if !task.ReadyAt(at.Add(-time.Second)) {
		t.Error("not ready although what it waits for is there")
	}
}
