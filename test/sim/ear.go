package sim

import (
	"fmt"

	"github.com/go-logr/logr"

	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

// ear hears from the holder's log which verb it performs.
type ear struct{ w *World }

var _ logr.LogSink = ear{}

func (ear) Init(logr.RuntimeInfo)            {}
func (ear) Enabled(int) bool                 { return true }
func (e ear) WithValues(...any) logr.LogSink { return e }
func (e ear) WithName(string) logr.LogSink   { return e }
func (e ear) Error(err error, m string, _ ...any) {
	e.w.told.add(e.w, fmt.Sprintf("the holder logs an error: %s: %v", m, err))
}

func (e ear) Info(_ int, message string, values ...any) {
	if message != "perform" {
		return
	}
	for i := 0; i+1 < len(values); i += 2 {
		if verb, ok := values[i+1].(hold.Verb); ok && values[i] == "verb" {
			e.w.visits.verb(verb)
			e.w.told.add(e.w, fmt.Sprintf("the holder decides to %s", verb))
		}
	}
}
