package sim

import (
	"maps"
	"slices"

	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// Visits counts where the simulations have been.
type Visits struct {
	Runs    int // simulations
	Steps   int // what came after something else
	Orders  map[uint64]bool
	Effects map[string]map[fate]int // of the holder, and what became of them
	Verbs   map[hold.Verb]int
}

func newVisits() *Visits {
	return &Visits{Orders: map[uint64]bool{}, Effects: map[string]map[fate]int{}, Verbs: map[hold.Verb]int{}}
}

func (v *Visits) effect(what string, f fate) {
	if v.Effects[what] == nil {
		v.Effects[what] = map[fate]int{}
	}
	v.Effects[what][f]++
}

func (v *Visits) verb(verb hold.Verb) { v.Verbs[verb]++ }

// effects returns the effects that were seen, in order.
func (v *Visits) effects() []string { return slices.Sorted(maps.Keys(v.Effects)) }

// add takes in what others have visited.
func (v *Visits) add(o *Visits) {
	v.Runs += o.Runs
	v.Steps += o.Steps
	maps.Copy(v.Orders, o.Orders)
	for what, fates := range o.Effects {
		for f, n := range fates {
			v.effect(what, f)
			v.Effects[what][f] += n - 1
		}
	}
	for verb, n := range o.Verbs {
		v.Verbs[verb] += n
	}
}
