package statuspage

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Board is the page at one moment. Its cards are those of the board before, wherever nothing changed, so that it costs what
// changed and not what there is. It does not change once it is drawn, and everybody who looks is shown the same one.
type Board struct {
	// Version is another one for every board of every holder.
	Version string

	// At is when it was drawn, UTC.
	At time.Time

	// Leadership is what the holder knew of itself then.
	Leadership Leadership

	// Counts are over all triggers, of which there are Total; Omitted of them have no card.
	Counts         Counts
	Total, Omitted int

	// Cards in the order they are shown: what needs attention, what is under way, all else; each by namespace and name.
	Cards []*Card

	byID map[string]*Card
	from string                          // version of the board before
	step []byte                          // what changed since that
	full func() (text []byte, err error) // the whole, made when it is first wanted
}

// Draw returns the board of triggers at now; before may be nil. It keeps the cards of before whose triggers have the uid and
// resourceVersion they had then, and changes neither before nor triggers.
func Draw(before *Board, version string, now time.Time, triggers []v1alpha1.FluxTrigger, l Leadership) (*Board, error) {
	order := byName(triggers)
	shown := order[:min(len(order), maxAppliers)]
	b := &Board{
		Version: version, At: now.UTC().Truncate(time.Second), Leadership: l,
		Total: len(order), Omitted: len(order) - len(shown),
		Cards: make([]*Card, 0, len(shown)), byID: make(map[string]*Card, len(shown)),
	}
	for _, t := range order {
		b.Counts.add(t)
	}
	each := share(len(shown))
	for _, t := range shown {
		c, err := before.cardOf(now, t, each)
		if err != nil {
			return nil, err
		}
		b.Cards = append(b.Cards, c)
		b.byID[c.ID] = c
	}
	slices.SortStableFunc(b.Cards, func(a, z *Card) int { return cmp.Compare(a.rank(), z.rank()) })
	b.full = sync.OnceValues(func() ([]byte, error) { return b.changes(nil) })
	if before != nil {
		var err error
		b.from = before.Version
		if b.step, err = b.changes(before); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// cardOf returns the card of t, the one there is if it is still right. b may be nil.
func (b *Board) cardOf(now time.Time, t *v1alpha1.FluxTrigger, each int) (*Card, error) {
	key := ""
	if t.ResourceVersion != "" {
		key = fmt.Sprint(t.UID, "/", t.ResourceVersion, "/", each)
	}
	if b != nil && key != "" {
		if c := b.byID[cardID(t)]; c != nil && c.Key == key {
			return c, nil
		}
	}
	return card(cardID(t), key, applier(now, t, each))
}

// rank orders cards: a lower one is shown first.
func (c *Card) rank() int {
	switch {
	case c.Attention:
		return 0
	case c.Group() == groupMoving:
		return 1
	}
	return 2
}

// Page writes the whole page with what filter leaves to be seen.
func (b *Board) Page(w io.Writer, filter Filter) error {
	type row struct {
		*Card
		Hidden bool
	}
	data := struct {
		*Board
		Filter  Filter
		Edition string
		Leading string
		Tabs    []tab
		Rows    []row
		Shown   int
	}{Board: b, Filter: filter, Edition: edition, Leading: leading(b.Leadership), Tabs: b.tabs(filter)}
	for _, c := range b.Cards {
		fits := filter.fits(c)
		data.Rows = append(data.Rows, row{c, !fits})
		if fits {
			data.Shown++
		}
	}
	if err := pages.ExecuteTemplate(w, "page.html", data); err != nil {
		return fmt.Errorf("write the status as a page: %w", err)
	}
	return nil
}

// tab is one of the filters with how many it leaves.
type tab struct {
	Key, Label string
	Count      int
	On         bool
	Link       template.URL
}
