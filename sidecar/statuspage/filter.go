package statuspage

import (
	"html/template"
	"net/url"
	"strings"
)

// Groups of states, as the filters know them.
const (
	groupAll       = "all"
	groupAttention = "attention"
	groupMoving    = "moving"
	groupHeld      = "held"
	groupNotHeld   = "nothold"
)

// maxQuery bounds what is searched for, in bytes.
const maxQuery = 256

// Filter is what somebody wants to see. The zero Filter leaves everything. assets/status.js follows the same rules.
type Filter struct {
	// Query is words that must all occur in what can be searched of an applier; case does not count.
	Query string

	// Show is a group of states; anything unknown is all.
	Show string
}

// FilterOf reads a filter from the page's address.
func FilterOf(values url.Values) Filter {
	f := Filter{Query: strings.ToValidUTF8(values.Get("q"), ""), Show: values.Get("show")}
	if len(f.Query) > maxQuery {
		f.Query = strings.ToValidUTF8(f.Query[:maxQuery], "")
	}
	switch f.Show {
	case groupAttention, groupMoving, groupHeld, groupNotHeld:
	default:
		f.Show = groupAll
	}
	return f
}

// fits says that f leaves c.
func (f Filter) fits(c *Card) bool {
	switch f.Show {
	case groupAttention:
		if !c.Attention {
			return false
		}
	case groupMoving, groupHeld, groupNotHeld:
		if c.Group() != f.Show {
			return false
		}
	}
	for _, word := range strings.Fields(strings.ToLower(f.Query)) {
		if !strings.Contains(c.Search, word) {
			return false
		}
	}
	return true
}

// Group is the filter, besides all and attention, that leaves c.
func (c *Card) Group() string {
	switch c.State {
	case StateHeld:
		return groupHeld
	case StateApplying, StateSuspending, StateReleasing:
		return groupMoving
	}
	return groupNotHeld
}

// tabs are the filters of the page with f chosen.
func (b *Board) tabs(f Filter) []tab {
	all := []tab{
		{Key: groupAttention, Label: "Need attention"},
		{Key: groupMoving, Label: "Under way"},
		{Key: groupHeld, Label: "Held"},
		{Key: groupNotHeld, Label: "Not held"},
		{Key: groupAll, Label: "All"},
	}
	counts := b.counts()
	for i := range all {
		t := &all[i]
		t.Count, t.On = counts[t.Key], t.Key == f.Show || t.Key == groupAll && f.Show == ""
		query := url.Values{"show": {t.Key}}
		if f.Query != "" {
			query.Set("q", f.Query)
		}
		t.Link = template.URL("?" + query.Encode()) // made of encoded values alone
	}
	return all
}

// counts are the numbers beside the filters.
func (b *Board) counts() map[string]int {
	c := b.Counts
	return map[string]int{
		groupAttention: c.NeedAttention, groupMoving: c.Applying + c.Moving, groupHeld: c.Held, groupNotHeld: c.NotHeld,
		groupAll: b.Total,
	}
}
