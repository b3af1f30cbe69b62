package statuspage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"slices"
)

// edition tells the files of the page apart from those of another build of the holder; a page of another edition loads anew.
var edition = func() string {
	sum := sha256.New()
	err := fs.WalkDir(assets, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := assets.ReadFile(path)
		fmt.Fprintln(sum, path, len(content))
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // the files are part of the binary
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}()

// change is what an open page needs to become the board; assets/status.js reads it.
type change struct {
	Version string         `json:"version"`
	Edition string         `json:"edition"`
	At      string         `json:"at"`
	Leading string         `json:"leading"`
	Leads   bool           `json:"leads"`
	Counts  map[string]int `json:"counts"`
	Omitted int            `json:"omitted"`

	// Order of all cards by ID; absent: as before.
	Order []string `json:"order,omitzero"`

	// Cards that are new or another.
	Cards []changed `json:"cards,omitempty"`
}

type changed struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Label     string        `json:"label"`
	Group     string        `json:"group"`
	Attention bool          `json:"attention"`
	Search    string        `json:"search"`
	HTML      template.HTML `json:"html"`
}

// Since returns what turns the page of version have into this board, as one line of JSON; nil: nothing, it is the same.
func (b *Board) Since(have string) ([]byte, error) {
	switch have {
	case b.Version:
		return nil, nil
	case b.from:
		if b.step != nil {
			return b.step, nil
		}
	}
	return b.full()
}

// changes writes what is another than in before; nil: all of it.
func (b *Board) changes(before *Board) ([]byte, error) {
	c := change{
		Version: b.Version, Edition: edition, At: b.At.Format("2006-01-02T15:04:05Z"), Counts: b.counts(), Omitted: b.Omitted,
		Leading: leading(b.Leadership), Leads: b.Leadership.Leads,
	}
	sameCard := func(x, y *Card) bool { return x.ID == y.ID }
	if before == nil || !slices.EqualFunc(before.Cards, b.Cards, sameCard) {
		c.Order = []string{}
		for _, card := range b.Cards {
			c.Order = append(c.Order, card.ID)
		}
	}
	for _, card := range b.Cards {
		if before != nil && same(before.byID[card.ID], card) {
			continue
		}
		c.Cards = append(c.Cards, changed{
			ID: card.ID, Name: card.Name, Label: labels[card.State], Group: card.Group(), Attention: card.Attention,
			Search: card.Search, HTML: card.HTML,
		})
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write what changed on the page as JSON: %w", err)
	}
	return text, nil
}

// same says that two cards show the same, made anew or not; nil equals none.
func same(a, b *Card) bool {
	return a == b || a != nil && a.HTML == b.HTML && a.Search == b.Search && a.State == b.State && a.Attention == b.Attention
}
