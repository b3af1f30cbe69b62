package trust

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	hosts = []string{"holdfast-injector.holdfast-system.svc"}
)

// of is an authority that was made an hour ago and lasts.
func of(mark Mark) Authority {
	return Authority{Mark: mark, NotBefore: begin.Add(-time.Hour), NotAfter: begin.Add(AuthorityLasts)}
}

func kept(mark Mark) *Authority { a := of(mark); return &a }

func leafBy(mark Mark) *Leaf { return &Leaf{By: mark, Hosts: hosts, NotAfter: begin.Add(LeafLasts)} }

func bundles(marks ...Mark) [][]Authority {
	b := []Authority{}
	for _, m := range marks {
		b = append(b, of(m))
	}
	return [][]Authority{b}
}

func ago(d time.Duration, marks ...Mark) map[Mark]time.Time {
	times := map[Mark]time.Time{}
	for _, m := range marks {
		times[m] = begin.Add(-d)
	}
	return times
}

func TestStep(t *testing.T) {
	old, ending := of("old"), of("old")
	old.NotAfter = begin.Add(-time.Second)
	ending.NotAfter = begin.Add(20 * time.Minute)
	due, elsewhere := leafBy("new"), leafBy("new")
	due.NotAfter = begin.Add(LeafRenew - time.Second)
	elsewhere.Hosts = []string{"other.holdfast-system.svc"}
	last := leafBy("old")
	last.NotAfter = ending.NotAfter
	past := leafBy("old")
	past.NotAfter = begin.Add(-time.Second)

	for _, row := range []struct {
		name   string
		memory Memory
		seen   Seen
		want   Plan
	}{
		{
			"without a webhook configuration nothing is made, because nobody calls",
			Memory{}, Seen{}, Plan{},
		}, {
			"the first replica of all makes an authority",
			Memory{}, Seen{Bundles: bundles()}, Plan{Make: true},
		}, {
			"one that serves nothing signs at once and has the authority trusted",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles()}, Plan{Sign: true, Bundle: []Mark{"new"}, Write: true},
		}, {
			"what is served and trusted is left alone",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles("new"), Serving: leafBy("new")}, Plan{Bundle: []Mark{"new"}, Trusted: true},
		}, {
			"another authority in the Secret is first trusted, and the last good certificate served",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles("old"), Serving: leafBy("old")},
			Plan{Bundle: []Mark{"new", "old"}, Write: true, Trusted: true},
		}, {
			"until every API server knows it",
			Memory{Trusted: ago(Settle-time.Second, "new")}, Seen{Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("old")},
			Plan{Bundle: []Mark{"new", "old"}, Trusted: true},
		}, {
			"and then signed by",
			Memory{Trusted: ago(Settle, "new")}, Seen{Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("old")},
			Plan{Sign: true, Bundle: []Mark{"new", "old"}, Trusted: true},
		}, {
			"an authority that is trusted by one webhook of two does not count as trusted",
			Memory{Trusted: ago(Settle, "new")},
			Seen{Kept: kept("new"), Bundles: [][]Authority{{of("new"), of("old")}, {of("old")}}, Serving: leafBy("old")},
			Plan{Bundle: []Mark{"new", "old"}, Write: true, Trusted: true},
		}, {
			"the old authority stays for replicas that have not moved",
			Memory{Superseded: ago(Overlap-time.Second, "old")}, Seen{Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("new")},
			Plan{Bundle: []Mark{"new", "old"}, Trusted: true},
		}, {
			"and goes when all have had the time to",
			Memory{Superseded: ago(Overlap, "old")}, Seen{Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("new")},
			Plan{Bundle: []Mark{"new"}, Write: true, Trusted: true},
		}, {
			"but not while it signed what is served here",
			Memory{Superseded: ago(Overlap, "old")}, Seen{Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("old")},
			Plan{Bundle: []Mark{"new", "old"}, Trusted: true},
		}, {
			"one that has ended goes at once",
			Memory{}, Seen{Kept: kept("new"), Bundles: [][]Authority{{of("new"), old}}, Serving: leafBy("new")},
			Plan{Bundle: []Mark{"new"}, Write: true, Trusted: true},
		}, {
			"a Secret that is gone or of no use gets another authority, and the last good certificate is served",
			Memory{}, Seen{Bundles: bundles("old"), Serving: leafBy("old")}, Plan{Make: true, Bundle: []Mark{"old"}, Trusted: true},
		}, {
			"a caBundle that was emptied is written again",
			Memory{Trusted: ago(time.Hour, "new")}, Seen{Kept: kept("new"), Bundles: bundles(), Serving: leafBy("new")},
			Plan{Bundle: []Mark{"new"}, Write: true},
		}, {
			"emptied in the middle of a change, with both authorities",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles(), Serving: leafBy("old")}, Plan{Bundle: []Mark{"new", "old"}, Write: true},
		}, {
			"emptied while the Secret is gone, with what is served",
			Memory{}, Seen{Bundles: bundles(), Serving: leafBy("old")}, Plan{Make: true, Bundle: []Mark{"old"}, Write: true},
		}, {
			"a certificate is renewed by the same authority well before its end",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles("new"), Serving: due}, Plan{Sign: true, Bundle: []Mark{"new"}, Trusted: true},
		}, {
			"one that ends with its authority waits for the next authority",
			Memory{}, Seen{Kept: &ending, Bundles: [][]Authority{{ending}}, Serving: last}, Plan{Make: true, Bundle: []Mark{"old"}, Trusted: true},
		}, {
			"one that has ended is replaced, trusted or not",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles("old"), Serving: past}, Plan{Sign: true, Bundle: []Mark{"new", "old"}, Write: true},
		}, {
			"a configuration that calls another name gets a certificate for it",
			Memory{}, Seen{Kept: kept("new"), Bundles: bundles("new"), Serving: elsewhere}, Plan{Sign: true, Bundle: []Mark{"new"}, Trusted: true},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.seen.Now, row.seen.Exact = begin, true
			if row.seen.Bundles != nil {
				row.seen.Hosts = hosts
			}
			_, got := Step(row.memory, row.seen)
			if got.Recheck <= 0 || got.Recheck > longestRecheck {
				t.Errorf("looks again after %s", got.Recheck)
			}
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreFields(Plan{}, "Recheck")); diff != "" {
				t.Errorf("plan, -want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoAuthorityInABundleIsWrittenOver(t *testing.T) {
	_, p := Step(Memory{}, Seen{Now: begin, Hosts: hosts, Kept: kept("new"), Bundles: bundles("new"), Serving: leafBy("new")})
	if !p.Write {
		t.Error("the bundle is left as it is")
	}
}

func TestStepLooksAgainWhenTimeAloneChangesSomething(t *testing.T) {
	seen := Seen{Now: begin, Hosts: hosts, Exact: true, Kept: kept("new"), Bundles: bundles("new", "old"), Serving: leafBy("old")}
	for _, row := range []struct {
		name   string
		memory Memory
		want   time.Duration
	}{
		{"when the new authority has settled", Memory{Trusted: ago(4*time.Second, "new")}, Settle - 4*time.Second},
		{"when the old one goes", Memory{Trusted: ago(Settle, "new"), Superseded: ago(4*time.Minute, "old")}, Overlap - 4*time.Minute},
		{"never sooner than makes sense", Memory{Trusted: ago(Settle-time.Millisecond, "new")}, shortestRecheck},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, p := Step(row.memory, seen); p.Recheck != row.want {
				t.Errorf("after %s, want %s", p.Recheck, row.want)
			}
		})
	}
}
