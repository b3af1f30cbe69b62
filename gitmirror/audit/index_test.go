package audit

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
)

var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// proves is a reading that says who wrote a version in the second given, with a request of half a second.
func proves(who, uid, version string, second int) fact.Reading {
	at := noon.Add(time.Duration(second) * time.Second)
	return fact.Reading{
		Outcome: fact.Proves,
		Key:     fact.Key{UID: types.UID(uid), ResourceVersion: version},
		Fact:    fact.Fact{Username: who, Received: at, At: at.Add(500 * time.Millisecond)},
	}
}

func TestIndexNamesTheWriterOfAVersionOrNobody(t *testing.T) {
	version, deletion := fact.Key{UID: "u1", ResourceVersion: "41"}, fact.DeletionOf("u1")
	for _, row := range []struct {
		says     string
		readings []fact.Reading
		key      fact.Key
		who      string
	}{
		{"the exact version is found", []fact.Reading{proves("alice", "u1", "41", 0)}, version, "alice"},
		{"another version is not", []fact.Reading{proves("alice", "u1", "42", 0)}, version, ""},
		{"another object is not", []fact.Reading{proves("alice", "u2", "41", 0)}, version, ""},
		{"a write never names who deleted", []fact.Reading{proves("alice", "u1", "41", 0)}, deletion, ""},
		{"a deletion never names who wrote", []fact.Reading{proves("bob", "u1", "", 0)}, version, ""},
		{"a deletion's fact outlasts later writes", []fact.Reading{proves("bob", "u1", "", 0), proves("alice", "u1", "42", 1)}, deletion, "bob"},
		{"the first deletion is the one that did it", []fact.Reading{proves("bob", "u1", "", 0), proves("eve", "u1", "", 5)}, deletion, "bob"},
		{"a write that changed nothing takes nobody's place", []fact.Reading{proves("alice", "u1", "41", 0), proves("bob", "u1", "41", 5)}, version, "alice"},
		{"also when it is heard of first", []fact.Reading{proves("bob", "u1", "41", 5), proves("alice", "u1", "41", 0)}, version, "alice"},
		{"two that may both have written it name nobody", []fact.Reading{proves("alice", "u1", "41", 0), proves("bob", "u1", "41", 0)}, version, ""},
		{"and a third changes nothing of that", []fact.Reading{proves("alice", "u1", "41", 0), proves("bob", "u1", "41", 0), proves("eve", "u1", "41", 9)}, version, ""},
		{"what proves nothing is not kept", []fact.Reading{{Outcome: fact.NoVersion, Key: version}}, version, ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			x := NewIndex(10, time.Hour)
			x.Add(row.readings, noon)
			if got, ok := x.Lookup(row.key); got.Username != row.who || ok != (row.who != "") {
				t.Errorf("Lookup = %q, %v, want %q", got.Username, ok, row.who)
			}
		})
	}
}

func TestIndexKeepsOneFactOfABatchSentAgain(t *testing.T) { // B31
	x := NewIndex(10, time.Hour)
	batch := []fact.Reading{proves("alice", "u1", "41", 0), proves("bob", "u1", "42", 1)}
	if n := x.Add(batch, noon); n != 0 {
		t.Errorf("%d of a new batch were known", n)
	}
	if n := x.Add(batch, noon.Add(time.Minute)); n != 2 || x.facts.Len() != 2 {
		t.Errorf("%d of a batch sent again were known, %d facts are kept", n, x.facts.Len())
	}
}

func TestIndexIsBounded(t *testing.T) { // B32
	x := NewIndex(100, time.Hour)
	for i := range 1000 {
		x.Add([]fact.Reading{proves("alice", fmt.Sprint(i), "1", 0)}, noon)
	}
	if _, ok := x.Lookup(fact.Key{UID: "999", ResourceVersion: "1"}); !ok || x.facts.Len() != 100 {
		t.Errorf("%d facts are kept, the latest among them: %v", x.facts.Len(), ok)
	}
}

func TestIndexTellsWhenFactsArrived(t *testing.T) { // B39
	x := NewIndex(10, time.Hour)
	x.Add([]fact.Reading{{Outcome: fact.NoVersion}}, noon)
	if !x.Expected() {
		t.Error("facts are not expected before anybody says so: a change would lose its name after a restart")
	}
	x.Expect(false)
	if x.Expected() {
		t.Error("facts are expected of a cluster that sends none")
	}
	if first, last := x.Received(); !first.IsZero() || !last.IsZero() {
		t.Errorf("an event that proves nothing counts as a fact: %v, %v", first, last)
	}
	x.Add([]fact.Reading{proves("alice", "u1", "41", 0)}, noon.Add(time.Minute))
	x.Add([]fact.Reading{proves("alice", "u1", "42", 0)}, noon.Add(time.Hour))
	if !x.Expected() {
		t.Error("facts are not expected although they arrive")
	}
	if first, last := x.Received(); !first.Equal(noon.Add(time.Minute)) || !last.Equal(noon.Add(time.Hour)) {
		t.Errorf("Received = %v, %v", first, last)
	}
}

func TestIndexWakesItsListenersOnceForAnyNumberOfFacts(t *testing.T) {
	x := NewIndex(10, time.Hour)
	added, stop := x.Listen()
	x.Add([]fact.Reading{{Outcome: fact.NotAWrite}}, noon)
	if len(added) != 0 {
		t.Error("woken without a fact")
	}
	for i := range 3 {
		x.Add([]fact.Reading{proves("alice", "u1", fmt.Sprint(i), 0)}, noon)
	}
	if len(added) != 1 {
		t.Errorf("%d wake-ups wait", len(added))
	}
	stop()
	<-added
	x.Add([]fact.Reading{proves("alice", "u1", "9", 0)}, noon)
	if len(added) != 0 {
		t.Error("woken after stop")
	}
}
