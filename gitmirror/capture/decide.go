package capture

import (
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// Edit is a change to record in Git.
type Edit struct {
	Intent manifest.Intent

	// Resync is true for an object that was there as the watch began: it is nobody's edit, and the committer is the author.
	Resync bool

	// Username is who made the edit, as the API server authenticated it; empty: nobody is proven to have.
	Username string

	// Impersonator is who acted in that name; empty: nobody did.
	Impersonator string

	// Made is when the API server answered the request, UTC; zero where Username is empty.
	Made time.Time
}

// Decide returns the edit a candidate is, or why it is none. f is the fact about its Key, nil: there is none. hasTrigger
// says whether the target names a trigger; without one nobody keeps the applier apart, and its writes are mirrored like
// anybody's.
func Decide(c Candidate, f *fact.Fact, hasTrigger bool) (Edit, Skip) {
	switch {
	case c.Initial:
		return Edit{Intent: c.intent, Resync: true}, ""
	case hasTrigger && c.byApplier(f):
		return Edit{}, WrittenByApplier
	case f == nil || c.mixed(f):
		return Edit{Intent: c.intent}, ""
	}
	return Edit{Intent: c.intent, Username: f.Username, Impersonator: f.Impersonator, Made: f.At}, ""
}

// byApplier says whether the applier alone made the change. A person who writes under the applier's field manager is a
// person. The user agent is the last request's only, so it says nothing about a replayed change.
func (c Candidate) byApplier(f *fact.Fact) bool {
	if f != nil && !strings.HasPrefix(f.Username, "system:serviceaccount:") {
		return false
	}
	return c.writers.applierAlone() || !c.replayed && f != nil && fromApplier(f)
}

// mixed says whether the change is more than the one request f is about. That is certain of a replayed one that several
// managers wrote, and of one where the applier wrote and somebody else was last, or the other way round.
func (c Candidate) mixed(f *fact.Fact) bool {
	return c.replayed && (len(c.writers) > 1 || c.writers.applierAlone() != fromApplier(f))
}

// fromApplier says whether the client called itself kustomize-controller.
func fromApplier(f *fact.Fact) bool { return strings.HasPrefix(f.UserAgent, "kustomize-controller/") }
