package join

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

var start = time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)

// at is a moment, in seconds after the start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func key(uid string, version int) fact.Key {
	return fact.Key{UID: types.UID(uid), ResourceVersion: fmt.Sprint(version)}
}

// sees is a change observed, with 3 s to wait for its fact.
func sees(second int, uid string, version int) Event[string] {
	return Observed[string]{Key: key(uid, version), Payload: fmt.Sprintf("%s@%d", uid, version), Now: at(second), Grace: 3 * time.Second}
}

func known(e Event[string], who string) Event[string] {
	o := e.(Observed[string])
	o.Fact = &fact.Fact{Username: who}
	return o
}

func atOnce(e Event[string]) Event[string] {
	o := e.(Observed[string])
	o.Grace = 0
	return o
}

func hears(uid string, version int, who string) Event[string] {
	return Proven[string]{Key: key(uid, version), Fact: fact.Fact{Username: who}}
}

func ticks(second int) Event[string] { return Tick[string]{Now: at(second)} }

func told(out []Attributed[string]) string {
	var words []string
	for _, a := range out {
		by := "?"
		if a.Fact != nil {
			by = a.Fact.Username
		}
		words = append(words, a.Payload+" by "+by)
	}
	return strings.Join(words, ", ")
}

func TestChangesGoOnWithTheirFactOrWhenTheyHaveWaitedLongEnough(t *testing.T) {
	type step struct {
		event Event[string]
		out   string
	}
	for _, row := range []struct {
		says  string
		steps []step
	}{
		{"a fact that is there already goes along at once", []step{{known(sees(0, "a", 1), "alice"), "a@1 by alice"}}},
		{"B38: a change waits for its fact", []step{{sees(0, "a", 1), ""}, {ticks(2), ""}, {hears("a", 1, "alice"), "a@1 by alice"}}},
		{"B38: and goes on without one when the grace is over", []step{{sees(0, "a", 1), ""}, {ticks(3), "a@1 by ?"}}},
		{"B38: a late fact names nobody any more", []step{{sees(0, "a", 1), ""}, {ticks(3), "a@1 by ?"}, {hears("a", 1, "alice"), ""}}},
		{"B39: where no fact was ever received nothing waits", []step{{atOnce(sees(0, "a", 1)), "a@1 by ?"}}},
		{"a fact about another version names nobody", []step{{sees(0, "a", 2), ""}, {hears("a", 1, "alice"), ""}, {ticks(3), "a@2 by ?"}}},
		{"a fact about another object names nobody", []step{{sees(0, "a", 1), ""}, {hears("b", 1, "bob"), ""}, {ticks(3), "a@1 by ?"}}},
		{"B38: the changes of one object keep their order", []step{{sees(0, "a", 1), ""}, {known(sees(1, "a", 2), "bob"), ""},
			{hears("a", 1, "alice"), "a@1 by alice, a@2 by bob"}}},
		{"B38: facts that come in another order change nothing of that", []step{{sees(0, "a", 1), ""}, {sees(0, "a", 2), ""},
			{hears("a", 2, "bob"), ""}, {ticks(3), "a@1 by ?, a@2 by bob"}}},
		{"B38: other objects are not delayed", []step{{sees(0, "a", 1), ""}, {known(sees(0, "b", 2), "bob"), "b@2 by bob"}}},
		{"each change has its own time", []step{{sees(0, "a", 1), ""}, {sees(1, "a", 2), ""}, {ticks(3), "a@1 by ?"}, {ticks(4), "a@2 by ?"}}},
		{"a clock set back lets nobody overtake", []step{{sees(10, "a", 1), ""}, {sees(0, "b", 2), ""}, {ticks(12), ""}, {ticks(13), "a@1 by ?, b@2 by ?"}}},
	} {
		t.Run(row.says, func(t *testing.T) {
			var s State[string]
			for i, step := range row.steps {
				var out []Attributed[string]
				s, out = Step(s, step.event)
				if got := told(out); got != step.out {
					t.Errorf("step %d gives %q, want %q", i+1, got, step.out)
				}
			}
		})
	}
}

func TestAwaitedAndNextAtTellWhatIsWaitedFor(t *testing.T) {
	var s State[string]
	if _, ok := s.NextAt(); ok || s.Waiting() != 0 || len(s.Awaited()) != 0 {
		t.Errorf("an empty state waits for something")
	}
	s, _ = Step(s, sees(0, "a", 1))
	s, _ = Step(s, known(sees(1, "a", 2), "bob"))
	s, _ = Step(s, sees(2, "a", 3))
	if diff := cmp.Diff([]fact.Key{key("a", 1), key("a", 3)}, s.Awaited()); diff != "" {
		t.Errorf("Awaited (-want +got)\n%s", diff)
	}
	s, _ = Step(s, hears("a", 1, "alice"))
	if next, ok := s.NextAt(); !ok || !next.Equal(at(5)) || s.Waiting() != 1 {
		t.Errorf("NextAt = %v, %v with %d waiting", next, ok, s.Waiting())
	}
}

// Whatever happens in whatever order: each change goes on once, in its object's order, never with another version's
// fact, and never later than its time.
func TestNoChangeIsLostDoubledOvertakenOrMisnamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State[fact.Key]
		now, version := start, 0
		observed, out := map[types.UID][]fact.Key{}, map[types.UID][]fact.Key{}
		deadline, proven := map[fact.Key]time.Time{}, map[fact.Key]bool{}
		owner := func(k fact.Key) fact.Fact {
			return fact.Fact{Username: "writer of " + string(k.UID) + k.ResourceVersion}
		}
		take := func(e Event[fact.Key]) {
			var went []Attributed[fact.Key]
			s, went = Step(s, e)
			for _, a := range went {
				k := a.Payload
				out[k.UID] = append(out[k.UID], k)
				if a.Fact != nil && (*a.Fact != owner(k) || !proven[k]) {
					t.Fatalf("%v went on with %v", k, *a.Fact)
				}
				if a.Fact == nil && now.Before(deadline[k]) {
					t.Fatalf("%v gave up %v early", k, deadline[k].Sub(now))
				}
			}
		}
		var keys []fact.Key
		t.Repeat(map[string]func(*rapid.T){
			"observe": func(t *rapid.T) {
				version++
				k := key(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "uid"), version)
				e := Observed[fact.Key]{Key: k, Payload: k, Now: now, Grace: time.Duration(rapid.IntRange(0, 3).Draw(t, "grace")) * time.Second}
				if rapid.Bool().Draw(t, "known") {
					f := owner(k)
					e.Fact, proven[k] = &f, true
				}
				keys, observed[k.UID], deadline[k] = append(keys, k), append(observed[k.UID], k), now.Add(e.Grace)
				take(e)
			},
			"prove": func(t *rapid.T) {
				if len(keys) == 0 {
					t.Skip("nothing observed")
				}
				k := rapid.SampledFrom(keys).Draw(t, "key")
				proven[k] = true
				take(Proven[fact.Key]{Key: k, Fact: owner(k)})
			},
			"tick": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
				take(Tick[fact.Key]{Now: now})
				if next, ok := s.NextAt(); ok && !next.After(now) {
					t.Fatalf("something due at %v still waits at %v", next, now)
				}
			},
			"": func(t *rapid.T) {
				waiting := 0
				for uid, want := range observed {
					if !slices.Equal(want[:len(out[uid])], out[uid]) {
						t.Fatalf("%s was observed as %v and went on as %v", uid, want, out[uid])
					}
					waiting += len(want) - len(out[uid])
				}
				if s.Waiting() != waiting {
					t.Fatalf("%d wait, and the state says %d", waiting, s.Waiting())
				}
			},
		})
		now = now.Add(time.Hour)
		take(Tick[fact.Key]{Now: now})
		for uid, want := range observed {
			if len(out[uid]) != len(want) {
				t.Fatalf("%d of %d changes of %s went on", len(out[uid]), len(want), uid)
			}
		}
	})
}
