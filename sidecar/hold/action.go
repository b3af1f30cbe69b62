package hold

import (
	"time"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// Verb is the one effect of a pass.
type Verb string

// The effects there are. Every one is safe to repeat.
const (
	// Wait does nothing. There may still be something to say in the status.
	Wait Verb = ""

	// AddFinalizer puts the hold finalizer on the trigger, before anything is held.
	AddFinalizer Verb = "AddFinalizer"

	// Suspend applies the whole hold to the Kustomization by force: suspend, held-by, finalizer and the token.
	Suspend Verb = "Suspend"

	// Fetch stamps the token on the GitRepository, so that its artifact is fetched anew.
	Fetch Verb = "Fetch"

	// Freeze suspends the GitRepository with the token, so that its artifact stays what it is.
	Freeze Verb = "Freeze"

	// Thaw gives up what Freeze applied.
	Thaw Verb = "Thaw"

	// Resume lifts the suspend with the token of a recorded operation. The rest of the hold stays.
	Resume Verb = "Resume"

	// Release resumes the Kustomization and gives up every field the holder applied.
	Release Verb = "Release"

	// GiveUp gives up every field the holder applied, and resumes nothing first.
	GiveUp Verb = "GiveUp"

	// RemoveFinalizer lets the trigger go.
	RemoveFinalizer Verb = "RemoveFinalizer"
)

// Verbs are all effects, for tests that must leave none out.
func Verbs() []Verb {
	return []Verb{AddFinalizer, Suspend, Fetch, Freeze, Thaw, Resume, Release, GiveUp, RemoveFinalizer}
}

// Action is what the shell does next. The zero Action waits and says nothing, so a forgotten case is safe.
type Action struct {
	// Verb is performed first; the status is written only when it succeeded.
	Verb Verb

	// HeldBy is who holds from a Suspend on, as the held-by annotation says it; empty: this trigger.
	HeldBy string

	// ResumedBy is whose resume a Suspend takes back, as the annotation says it; empty: nobody's.
	ResumedBy string

	// Token is the requestedAt value that Suspend, Fetch, Freeze and Resume write.
	Token string

	// Guarded: the object must still have the resourceVersion that was read; otherwise read and decide again. The uid is
	// always guarded. A suspend that ends something resumed need not be, because nothing may delay it for long. What gives up
	// must: one that arrives late, after its sender was killed, must not undo what came since.
	Guarded bool

	// Reason says why, as log value and metric label.
	Reason v1alpha1.Reason

	// Status is all the holder says once the verb is done, without what gitmirror owns; nil leaves it as it is.
	Status *v1alpha1.FluxTriggerStatus

	// Event tells people of a transition; nil: nothing they need to hear of.
	Event *Event

	// Recheck: look again after this long. 0: only an event wakes us.
	Recheck time.Duration

	// Again: decide again at once, because the next step must not wait for a watch.
	Again bool
}

// Event is what people hear of.
type Event struct {
	Warning bool
	Reason  v1alpha1.Reason
	Message string
}
