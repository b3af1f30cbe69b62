package apply

import "time"

// Target is one GitTarget that binds the trigger, and what its branch worker knows.
type Target struct {
	Branch       string    // short name, such as main
	Tip          string    // full hash; "" while unknown
	Busy         bool      // an edit is in hand: it waits for its author, is collected, or is not pushed
	Blind        bool      // a resource is not watched, so that an edit might go unseen
	QuietSince   time.Time // last edit, push or foreign move, UTC
	ForeignMoves int       // how often somebody else has pushed since the start
}

// Fold returns the one branch that several targets of a trigger write: busy when an edit of any may be in hand, and quiet
// since the latest of them. Without any target it is the zero Branch, for which nothing is asked.
func Fold(targets []Target) Branch {
	var b Branch
	for _, t := range targets {
		b.Name, b.Tip = t.Branch, t.Tip
		b.Busy = b.Busy || t.Busy || t.Blind
		b.ForeignMoves = max(b.ForeignMoves, t.ForeignMoves)
		if t.QuietSince.After(b.QuietSince) {
			b.QuietSince = t.QuietSince
		}
	}
	return b
}
