package notify

import "net/http"

// Outcome is what became of an event that was posted. It is a metric label.
type Outcome string

// Outcomes of a post.
const (
	// Delivered: the endpoint took it.
	Delivered Outcome = "Delivered"

	// Duplicate: the endpoint had the same event a short time ago and tells nobody again.
	Duplicate Outcome = "Duplicate"

	// Refused: the endpoint answered that it will not take this event, so it was sent once.
	Refused Outcome = "Refused"

	// Failed: the endpoint could not be reached, or failed at each attempt.
	Failed Outcome = "Failed"

	// QueueFull: too many events waited already.
	QueueFull Outcome = "QueueFull"

	// Stopped: the program ended before the event was sent.
	Stopped Outcome = "Stopped"
)

// Outcomes returns every outcome there is.
func Outcomes() []Outcome {
	return []Outcome{Delivered, Duplicate, Refused, Failed, QueueFull, Stopped}
}

// lost says that nobody will hear of the event.
func (o Outcome) lost() bool { return o != Delivered && o != Duplicate }

// judge returns what an answer with that HTTP status means, and whether the same event may fare better later.
func judge(code int) (o Outcome, again bool) {
	switch {
	case code >= 200 && code < 300:
		return Delivered, false
	case code == http.StatusTooManyRequests:
		return Duplicate, false
	case code >= 500:
		return Failed, true
	}
	return Refused, false
}
