package trust

import (
	"maps"
	"slices"
	"time"
)

// How long things take and last.
const (
	// Settle is how long a bundle must have had an authority before a certificate signed by it is served: by then every
	// API server has read the bundle.
	Settle = 10 * time.Second

	// Overlap is how long a bundle keeps an authority that the Secret has no longer. A replica moves within Settle; the
	// rest is for one that does not reach the API server.
	Overlap = 10 * time.Minute

	// AuthorityLasts is how long an authority made here lasts. Any is replaced when a third of its time is left.
	AuthorityLasts = 365 * 24 * time.Hour

	// LeafLasts is how long a certificate lasts that is served; it is replaced LeafRenew before its end.
	LeafLasts = 30 * 24 * time.Hour
	LeafRenew = 10 * 24 * time.Hour

	longestRecheck  = time.Hour
	shortestRecheck = time.Second
)

// Mark names a certificate: the SHA-256 of its encoding, in hex.
type Mark string

// Authority is what a decision needs to know of a certificate that signs others.
type Authority struct {
	Mark      Mark
	NotBefore time.Time
	NotAfter  time.Time
}

// renewAt is when a successor is made.
func (a Authority) renewAt() time.Time { return a.NotAfter.Add(-a.NotAfter.Sub(a.NotBefore) / 3) }

// Leaf is what a decision needs to know of the certificate that is served.
type Leaf struct {
	By       Mark // the authority that signed it
	Hosts    []string
	NotAfter time.Time
}

// Seen is everything Step may look at.
type Seen struct {
	Now time.Time // UTC

	// Hosts are the names by which the webhook configuration calls the injector, sorted; empty: there is no configuration.
	Hosts []string

	// Kept is the authority in the Secret; nil: the Secret is missing or of no use.
	Kept *Authority

	// Bundles are the authorities of each webhook of the configuration, in its order. Exact says that nothing else is in
	// any of them.
	Bundles [][]Authority
	Exact   bool

	// Serving is what this replica serves; nil: nothing yet.
	Serving *Leaf
}

// Memory is what a replica remembers from pass to pass. The zero Memory is that of one that has just started.
type Memory struct {
	Trusted    map[Mark]time.Time // since when this replica has seen every bundle have it
	Superseded map[Mark]time.Time // since when this replica has seen it in a bundle and not in the Secret
}

// Plan is what a replica does next. The zero Plan does nothing.
type Plan struct {
	Make    bool   // a new authority is made and put into the Secret
	Sign    bool   // a new certificate is signed by the authority in the Secret, and served from now on
	Bundle  []Mark // what each bundle shall have, sorted
	Write   bool   // some bundle does not say that
	Trusted bool   // what is served is trusted: calls succeed
	Recheck time.Duration
}

// Step returns what to do now and what to remember.
func Step(m Memory, s Seen) (Memory, Plan) {
	if len(s.Hosts) == 0 {
		return Memory{}, Plan{Recheck: longestRecheck} // nobody calls, and nothing would be trusted
	}
	m = m.look(s)
	p := Plan{
		Make:   s.Kept == nil || !s.Now.Before(s.Kept.renewAt()),
		Sign:   sign(m, s),
		Bundle: m.bundle(s),
	}
	p.Write = !s.Exact || slices.ContainsFunc(s.Bundles, func(b []Authority) bool { return !slices.Equal(marks(b), p.Bundle) })
	if s.Serving != nil {
		_, trusted := m.Trusted[s.Serving.By]
		p.Trusted = trusted && s.Now.Before(s.Serving.NotAfter)
	}
	p.Recheck = m.recheck(s)
	return m, p
}

// look remembers what is seen for the first time and forgets what is no longer so.
func (m Memory) look(s Seen) Memory {
	next := Memory{Trusted: map[Mark]time.Time{}, Superseded: map[Mark]time.Time{}}
	for mark, a := range present(s) {
		if !s.Now.Before(a.NotAfter) {
			continue
		}
		if inAll(s.Bundles, mark) {
			next.Trusted[mark] = since(m.Trusted, mark, s.Now)
		}
		if s.Kept != nil && s.Kept.Mark != mark {
			next.Superseded[mark] = since(m.Superseded, mark, s.Now)
		}
	}
	return next
}

func since(times map[Mark]time.Time, mark Mark, now time.Time) time.Time {
	if t, ok := times[mark]; ok {
		return t
	}
	return now
}

// sign reports whether another certificate should be served. What is served stays until its successor is trusted.
func sign(m Memory, s Seen) bool {
	switch {
	case s.Kept == nil || !s.Now.Before(s.Kept.NotAfter):
		return false
	case s.Serving == nil || !s.Now.Before(s.Serving.NotAfter):
		return true
	case s.Serving.By == s.Kept.Mark:
		end := s.Serving.NotAfter
		due := end.Sub(s.Now) < LeafRenew && end.Before(s.Kept.NotAfter) // one that ends with its authority cannot be bettered
		return due || !slices.Equal(s.Serving.Hosts, s.Hosts)
	default:
		at, trusted := m.Trusted[s.Kept.Mark]
		return trusted && s.Now.Sub(at) >= Settle
	}
}

// bundle is what every bundle shall have: the Secret's authority, the one this replica serves by, and what others may
// still serve by.
func (m Memory) bundle(s Seen) []Mark {
	want := map[Mark]bool{}
	for mark, a := range present(s) {
		at, superseded := m.Superseded[mark]
		want[mark] = s.Now.Before(a.NotAfter) && (!superseded || s.Now.Sub(at) < Overlap)
	}
	if s.Kept != nil {
		want[s.Kept.Mark] = true
	}
	if s.Serving != nil && s.Now.Before(s.Serving.NotAfter) {
		want[s.Serving.By] = true
	}
	maps.DeleteFunc(want, func(_ Mark, wanted bool) bool { return !wanted })
	return slices.Sorted(maps.Keys(want))
}

// recheck is how long nothing changes by time alone.
func (m Memory) recheck(s Seen) time.Duration {
	next := longestRecheck
	at := func(t time.Time) {
		if d := t.Sub(s.Now); d > 0 {
			next = min(next, d)
		}
	}
	for _, t := range m.Superseded {
		at(t.Add(Overlap))
	}
	if s.Kept != nil {
		at(s.Kept.renewAt())
		if t, ok := m.Trusted[s.Kept.Mark]; ok {
			at(t.Add(Settle))
		}
	}
	if s.Serving != nil {
		at(s.Serving.NotAfter.Add(-LeafRenew))
		at(s.Serving.NotAfter)
	}
	return max(next, shortestRecheck)
}

// present are the authorities that any bundle has.
func present(s Seen) map[Mark]Authority {
	all := map[Mark]Authority{}
	for _, b := range s.Bundles {
		for _, a := range b {
			all[a.Mark] = a
		}
	}
	return all
}

func inAll(bundles [][]Authority, mark Mark) bool {
	for _, b := range bundles {
		if !slices.ContainsFunc(b, func(a Authority) bool { return a.Mark == mark }) {
			return false
		}
	}
	return true
}

// marks are the marks of a bundle, sorted.
func marks(b []Authority) []Mark {
	all := make([]Mark, 0, len(b))
	for _, a := range b {
		all = append(all, a.Mark)
	}
	slices.Sort(all)
	return all
}
