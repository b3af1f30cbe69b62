package statuspage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

//go:embed assets
var assets embed.FS

// pages are the templates of the page and of one applier in it.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"asker":   asker,
	"because": because,
	"clock":   func(t *metav1.Time) string { return t.UTC().Format("15:04:05") },
	"date":    func(t *metav1.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" },
	"iso":     func(t *metav1.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") },
	"named":   named,
	"label":   func(s State) string { return labels[s] },
	"plain":   plain,
	"since":   since,
	"said":    func(a Applier, message string) bool { return strings.Contains(a.Sentence, message) },
	"short":   short,
	"stages":  stages,
	"took":    took,
	"upper":   upper,
}).ParseFS(assets, "assets/*.html"))

// namedClaim is a claim with the condition's name.
type namedClaim struct {
	Name string
	Claim
}

// named takes a Claim or a pointer to one.
func named(claim any, name string) namedClaim {
	if c, ok := claim.(*Claim); ok {
		return namedClaim{name, *c}
	}
	c, _ := claim.(Claim)
	return namedClaim{name, c}
}

// labels are what a person reads for a state.
var labels = map[State]string{
	StateHeld: "Held", StateApplying: "Applying", StateSuspending: "Suspending", StateReleasing: "Handing back",
	StateNotHeld: "Not held", StateUnknown: "Unknown",
}

// Card is one applier as the page shows it. It says no more than its trigger does, and nothing that passes with time, so
// that it is made once for each change of that trigger.
type Card struct {
	// ID of the element, the same for as long as the trigger has its name.
	ID string

	// Key tells cards of the same trigger apart; equal keys mean equal cards. Empty: it equals no other.
	Key string

	// State and Attention decide what the filters show, and the order.
	State     State
	Attention bool

	// Name for people, and Search, everything they may look for, in lower case.
	Name, Search string

	// HTML is the content of the element.
	HTML template.HTML
}

// cardID is the ID of t's card.
func cardID(t *v1alpha1.FluxTrigger) string {
	sum := sha256.Sum256([]byte(t.Namespace + "/" + t.Name))
	return "a" + hex.EncodeToString(sum[:8])
}

// card returns a as the page shows it.
func card(id, key string, a Applier) (*Card, error) {
	c := &Card{
		ID:        id,
		Key:       key,
		State:     a.State,
		Attention: a.NeedsAttention,
		Name:      plain(a.Applier.Namespace + "/" + a.Applier.Name),
		Search:    strings.ToLower(plain(strings.Join(searched(a), " "))),
	}
	var b strings.Builder
	if err := pages.ExecuteTemplate(&b, "card.html", a); err != nil {
		return nil, fmt.Errorf("write the applier of FluxTrigger %s/%s as HTML: %w", a.Trigger.Namespace, a.Trigger.Name, err)
	}
	c.HTML = template.HTML(b.String()) // written by html/template
	return c, nil
}

// searched returns what a person may look for in a.
func searched(a Applier) []string {
	words := []string{
		a.Applier.Kind, a.Applier.Namespace + "/" + a.Applier.Name, a.Trigger.Namespace + "/" + a.Trigger.Name,
		labels[a.State], a.Sentence, a.Held.Reason, a.Ready.Reason, a.Configured.Reason, a.Holder,
	}
	if a.Source != nil {
		words = append(words, a.Source.URL, a.Source.Branch)
	}
	if a.Waiting != nil {
		words = append(words, a.Waiting.Commit)
	}
	if a.Operation != nil {
		words = append(words, a.Operation.Commit, a.Operation.Token, a.Operation.By)
	}
	for _, op := range a.History {
		words = append(words, op.Commit)
	}
	return words
}

// since is since when a is in its state, as far as that was written down; nil: it was not.
func since(a Applier) *metav1.Time {
	switch {
	case a.State == StateApplying && a.Operation != nil:
		return &a.Operation.RequestedAt
	case a.State == StateUnknown && a.HolderAvailable != nil:
		return a.HolderAvailable.Since
	}
	return a.Held.Since
}

// took is how long a finished operation lasted, from its record, or "".
func took(op v1alpha1.Operation) string {
	if op.FinishedAt == nil {
		return ""
	}
	return spent(op.FinishedAt.Sub(op.RequestedAt.Time))
}

// plain returns text, a string of any type, in which every character is seen: those that would hide, or turn the order of what follows, are
// written as their numbers.
func plain(text any) string {
	var b strings.Builder
	for _, r := range fmt.Sprint(text) {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
