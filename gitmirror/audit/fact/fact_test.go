package fact

import (
	"testing"
	"time"
)

func TestWriterOfAVersionTwoRequestsEndedAt(t *testing.T) {
	second := func(s int) time.Time { return time.Date(2030, 1, 2, 3, 4, s, 0, time.UTC) }
	request := func(who string, received, at int) Fact {
		return Fact{Username: who, Received: second(received), At: second(at)}
	}
	alice := request("alice", 10, 20)
	for _, row := range []struct {
		says   string
		other  Fact
		want   string
		proven bool
	}{
		{"one that began after the known one was over changed nothing", request("bob", 21, 22), "alice", true},
		{"one that was over before the known one began is the writer", request("bob", 1, 9), "bob", true},
		{"two that overlap prove neither", request("bob", 15, 25), "alice", false},
		{"two of one user that overlap are that user's", request("alice", 15, 25), "alice", true},
		{"touching counts as overlapping", request("bob", 20, 25), "alice", false},
		{"without times nothing is told apart", Fact{Username: "bob"}, "alice", false},
		{"another impersonator is another writer", Fact{Username: "alice", Impersonator: "eve", Received: second(15), At: second(25)}, "alice", false},
	} {
		t.Run(row.says, func(t *testing.T) {
			got, proven := Writer(alice, row.other)
			if proven != row.proven || proven && got.Username != row.want {
				t.Errorf("Writer = %s, %v", got.Username, proven)
			}
			back, provenBack := Writer(row.other, alice)
			if provenBack != proven || proven && back.Username != got.Username {
				t.Errorf("the other way round: %s, %v", back.Username, provenBack)
			}
		})
	}
}
