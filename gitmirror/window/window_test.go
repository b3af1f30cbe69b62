package window_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/window"
)

var start = time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)

func second(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

func target(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team-a", Name: name}
}

var normal = window.Limits{Idle: 5 * time.Second, Max: 30 * time.Second}

func edit(at int, to, by, what string) window.Edit[string] {
	return limited(at, to, by, what, normal)
}

func limited(at int, to, by, what string, l window.Limits) window.Edit[string] {
	return window.Edit[string]{Now: second(at), Made: second(at), Target: target(to), Author: author.Of(by), Limits: l, Payload: what}
}

func tick(at int) window.Event[string] { return window.Tick[string]{Now: second(at)} }

// show writes closed windows as "1 apps/alice:a,b".
func show(closed []window.Closed[string]) string {
	var out []string
	for _, c := range closed {
		out = append(out, fmt.Sprintf("%d %s/%s:%s", c.Sequence, c.Window.Target.Name, c.Window.Author.Name, strings.Join(c.Window.Edits, ",")))
	}
	return strings.Join(out, "; ")
}

func TestStepClosesCommitWindows(t *testing.T) {
	for _, row := range []struct {
		says   string
		events []window.Event[string]
		want   string
	}{
		{"an edit alone stays open", []window.Event[string]{edit(0, "apps", "alice", "a"), tick(4)}, ""},
		{"it closes when nothing came for the idle timeout", []window.Event[string]{edit(0, "apps", "alice", "a"), tick(5)}, "1 apps/alice:a"},
		{"an edit starts the idle timeout again", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(4, "apps", "alice", "b"), tick(8)}, ""},
		{"the maximum ends an endless stream of edits", []window.Event[string]{
			limited(0, "apps", "alice", "a", window.Limits{Idle: 5 * time.Second, Max: 6 * time.Second}),
			limited(4, "apps", "alice", "b", window.Limits{Idle: 5 * time.Second, Max: 6 * time.Second}), tick(6)}, "1 apps/alice:a,b"},
		{"an edit that comes after the end opens the next", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(9, "apps", "alice", "b"), tick(20)},
			"1 apps/alice:a; 2 apps/alice:b"},
		{"another author closes the one before, and order stays", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(1, "apps", "bob", "b"),
			edit(2, "apps", "alice", "c"), tick(60)}, "1 apps/alice:a; 2 apps/bob:b; 3 apps/alice:c"},
		{"another target is another window", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(1, "infra", "bob", "b"), edit(2, "apps", "alice", "c"), tick(60)},
			"1 infra/bob:b; 2 apps/alice:a,c"},
		{"no idle timeout closes at once", []window.Event[string]{limited(0, "apps", "alice", "a", window.Limits{Max: time.Minute})}, "1 apps/alice:a"},
		{"no maximum closes at once", []window.Event[string]{limited(0, "apps", "alice", "a", window.Limits{Idle: time.Minute})}, "1 apps/alice:a"},
		{"a shorter limit holds from the next edit on", []window.Event[string]{edit(0, "apps", "alice", "a"), limited(1, "apps", "alice", "b", window.Limits{})}, "1 apps/alice:a,b"},
		{"repeated edits of one object are all kept", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(0, "apps", "alice", "a"), tick(60)}, "1 apps/alice:a,a"},
		{"close ends one target only", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(0, "infra", "alice", "b"),
			window.Close[string]{Now: second(1), Target: target("infra")}}, "1 infra/alice:b"},
		{"close all ends every target", []window.Event[string]{edit(0, "apps", "alice", "a"), edit(1, "infra", "alice", "b"),
			window.CloseAll[string]{Now: second(2)}}, "1 apps/alice:a; 2 infra/alice:b"},
		{"closing what is not open is nothing", []window.Event[string]{window.Close[string]{Now: second(1), Target: target("infra")}}, ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			var s window.State[string]
			var all, closed []window.Closed[string]
			for _, e := range row.events {
				s, closed = window.Step(s, e)
				all = append(all, closed...)
			}
			if got := show(all); got != row.want {
				t.Errorf("closed %q, want %q", got, row.want)
			}
		})
	}
}

func TestNextAtIsTheEarliestDeadline(t *testing.T) {
	var s window.State[string]
	if _, ok := s.NextAt(); ok {
		t.Error("a deadline without a window")
	}
	s, _ = window.Step(s, edit(3, "apps", "alice", "a"))
	s, _ = window.Step(s, edit(1, "infra", "alice", "b"))
	if at, ok := s.NextAt(); !ok || !at.Equal(second(6)) {
		t.Errorf("next at %v, %t, want %v", at, ok, second(6))
	}
}

func TestACommitIsDatedByItsNewestEdit(t *testing.T) {
	var s window.State[string]
	late := edit(2, "apps", "alice", "b")
	late.Made = second(-7)
	s, _ = window.Step(s, edit(1, "apps", "alice", "a"))
	s, _ = window.Step(s, window.Event[string](late))
	_, closed := window.Step(s, tick(60))
	if len(closed) != 1 || !closed[0].Window.Made.Equal(second(1)) {
		t.Errorf("closed %+v, want made at %v", closed, second(1))
	}
}

// FuzzStep: every edit comes out exactly once, the edits of a target in the order they came, never two authors in one window,
// and never a window older than its maximum when time is told.
func FuzzStep(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(property))
}

func TestStepNeverLosesOrReordersAnEdit(t *testing.T) { rapid.Check(t, property) }

func property(t *rapid.T) {
	targets, people := []string{"apps", "infra"}, []string{"alice", "bob", ""}
	var s window.State[string]
	now, sequence, n := 0, uint64(0), 0
	sent, got := map[string][]string{}, map[string][]string{}
	step := func(e window.Event[string]) {
		var closed []window.Closed[string]
		s, closed = window.Step(s, e)
		for _, c := range closed {
			if sequence++; c.Sequence != sequence {
				t.Fatalf("sequence %d, want %d", c.Sequence, sequence)
			}
			for _, p := range c.Window.Edits {
				if !strings.HasSuffix(p, " by "+c.Window.Author.Name) {
					t.Fatalf("%q is in a window of %s", p, c.Window.Author.Name)
				}
			}
			got[c.Window.Target.Name] = append(got[c.Window.Target.Name], c.Window.Edits...)
		}
		if at, ok := s.NextAt(); ok && !at.After(second(now)) {
			t.Fatalf("a window that was to close at %v is open at %v", at, second(now))
		}
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		now += rapid.IntRange(0, 8).Draw(t, "pass")
		to := rapid.SampledFrom(targets).Draw(t, "target")
		switch rapid.IntRange(0, 3).Draw(t, "event") {
		case 0:
			step(tick(now))
		case 1:
			step(window.Close[string]{Now: second(now), Target: target(to)})
		default:
			who := author.Of(rapid.SampledFrom(people).Draw(t, "author"))
			n++
			payload := fmt.Sprintf("%d by %s", n, who.Name)
			sent[to] = append(sent[to], payload)
			step(window.Edit[string]{Now: second(now), Made: second(now), Target: target(to), Author: who, Payload: payload,
				Limits: window.Limits{Idle: time.Duration(rapid.IntRange(-1, 6).Draw(t, "idle")) * time.Second, Max: time.Duration(rapid.IntRange(0, 9).Draw(t, "max")) * time.Second}})
		}
	}
	now += 100
	step(tick(now))
	for _, name := range targets {
		if strings.Join(sent[name], ";") != strings.Join(got[name], ";") {
			t.Fatalf("%s: sent %v, got %v", name, sent[name], got[name])
		}
	}
}
