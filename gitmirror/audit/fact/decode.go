package fact

import (
	"fmt"
	"net/url"
	"slices"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Bounds on what is kept of a client's own words, in bytes. A longer user agent is cut; a longer username or uid proves
// nothing, because a cut one could name somebody else.
const (
	maxUserAgent = 256
	maxAuditID   = 128
	maxUsername  = 1024
	maxUID       = 128
)

// Outcome says what became of an event; it serves as metric label.
type Outcome string

const (
	// Proves: the event names the author of a version or of a deletion.
	Proves Outcome = "Proves"

	// NotAWrite: a stage, verb or subresource that makes no version worth naming.
	NotAWrite Outcome = "NotAWrite"

	// NotDone: the request failed, or was a dry run.
	NotDone Outcome = "NotDone"

	// NoVersion: a write whose event does not say which version came of it. The audit policy logs it below
	// RequestResponse, or the API server cut the bodies off.
	NoVersion Outcome = "NoVersion"

	// Malformed: not an event as audit.k8s.io/v1 has it.
	Malformed Outcome = "Malformed"
)

// Reading is what one event proves. Key and Fact are set only when Outcome is Proves.
type Reading struct {
	Outcome Outcome
	Key     Key
	Fact    Fact
}

// Decode reads an EventList of audit.k8s.io/v1 and returns one Reading for each of its events, in order. An event that
// cannot be read is Malformed and costs no other one; a body that is no such list is an error.
func Decode(body []byte) ([]Reading, error) {
	var list eventList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("decode audit events: %w", err)
	}
	if list.Kind != "EventList" || list.APIVersion != "audit.k8s.io/v1" {
		return nil, fmt.Errorf("decode audit events: want an EventList of audit.k8s.io/v1, got %.64q of %.64q", list.Kind, list.APIVersion)
	}
	readings := make([]Reading, 0, len(list.Items))
	for i := range list.Items {
		readings = append(readings, list.Items[i].read())
	}
	return readings, nil
}

// The fields of audit.k8s.io/v1 that are read. Names are matched by case (the decoder sees to it): an object's own
// fields are its author's to choose, and one called METADATA must not pass for the metadata.
type eventList struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Items      []item `json:"items"`
}

type event struct {
	AuditID                  string           `json:"auditID"`
	Stage                    string           `json:"stage"`
	RequestURI               string           `json:"requestURI"`
	Verb                     string           `json:"verb"`
	UserAgent                string           `json:"userAgent"`
	User                     user             `json:"user"`
	ImpersonatedUser         *user            `json:"impersonatedUser"`
	ObjectRef                *objectRef       `json:"objectRef"`
	ResponseStatus           status           `json:"responseStatus"`
	RequestObject            lenient[options] `json:"requestObject"`
	ResponseObject           lenient[answer]  `json:"responseObject"`
	RequestReceivedTimestamp metav1.MicroTime `json:"requestReceivedTimestamp"`
	StageTimestamp           metav1.MicroTime `json:"stageTimestamp"`
}

type user struct {
	Username string `json:"username"`
}

type objectRef struct {
	Subresource string `json:"subresource"`
}

type status struct {
	Code int32 `json:"code"`
}

// options are a deletion's: the only verb that has its dry run in the body.
type options struct {
	DryRun []string `json:"dryRun"`
}

// answer is the object a request was answered with, or the Status a deletion may be answered with.
type answer struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
	} `json:"metadata"`
	Details struct {
		UID types.UID `json:"uid"`
	} `json:"details"`
}

// item is an event, or the remark that it was none.
type item struct {
	event
	bad bool
}

// UnmarshalJSON never fails, so that one event cannot take its batch with it.
func (i *item) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &i.event); err != nil {
		*i = item{bad: true}
	}
	return nil
}

// lenient is a T, or a zero one where the body has another shape (a patch is a list).
type lenient[T any] struct {
	value T
}

// UnmarshalJSON never fails.
func (l *lenient[T]) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &l.value); err != nil {
		*l = lenient[T]{}
	}
	return nil
}

// read decides what the event proves; the first rule that matches wins.
func (i *item) read() Reading {
	switch {
	case i.bad:
		return Reading{Outcome: Malformed}
	case i.Stage != "ResponseComplete", !i.writes():
		return Reading{Outcome: NotAWrite}
	case i.ResponseStatus.Code < 200, i.ResponseStatus.Code > 299, i.dryRun():
		return Reading{Outcome: NotDone}
	}
	key, ok := i.key()
	fact := i.fact()
	if !ok || fact.Username == "" || len(fact.Username) > maxUsername || len(fact.Impersonator) > maxUsername {
		return Reading{Outcome: NoVersion}
	}
	return Reading{Outcome: Proves, Key: key, Fact: fact}
}

// writes says whether the verb writes one object's own content. Of the subresources only scale does: its answer is a
// Scale with the uid and the new resourceVersion of the object it scales.
func (i *item) writes() bool {
	var subresource string
	if i.ObjectRef != nil {
		subresource = i.ObjectRef.Subresource
	}
	switch i.Verb {
	case "create", "delete":
		return subresource == ""
	case "update", "patch":
		return subresource == "" || subresource == "scale"
	}
	return false
}

// dryRun says whether nothing was stored. A request URI that cannot be read counts as one: nothing is proven then.
func (i *item) dryRun() bool {
	uri, err := url.ParseRequestURI(i.RequestURI)
	if err != nil {
		return true
	}
	query, err := url.ParseQuery(uri.RawQuery)
	if err != nil {
		return true
	}
	said := func(values []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return v != "" })
	}
	return said(query["dryRun"]) || i.Verb == "delete" && said(i.RequestObject.value.DryRun)
}

// key returns what the event is about, and false when it does not say.
func (i *item) key() (Key, bool) {
	a := &i.ResponseObject.value
	key := Key{UID: a.Metadata.UID, ResourceVersion: a.Metadata.ResourceVersion}
	if i.Verb == "delete" {
		// The version a deletion is answered with may be the last writer's: it is never used.
		key = DeletionOf(a.Metadata.UID)
		if a.Kind == "Status" && a.APIVersion == "v1" {
			key = DeletionOf(a.Details.UID)
		}
		return key, key.UID != "" && len(key.UID) <= maxUID
	}
	return key, key.UID != "" && len(key.UID) <= maxUID && key.ResourceVersion != "" && len(key.ResourceVersion) <= maxUID
}

// fact returns who made the request. Strings that recur in many events are kept once.
func (i *item) fact() Fact {
	f := Fact{
		Username: i.User.Username, UserAgent: i.UserAgent[:min(len(i.UserAgent), maxUserAgent)], Verb: i.Verb,
		AuditID: i.AuditID[:min(len(i.AuditID), maxAuditID)], Received: i.RequestReceivedTimestamp.UTC(), At: i.StageTimestamp.UTC(),
	}
	if i.ImpersonatedUser != nil {
		f.Username, f.Impersonator = i.ImpersonatedUser.Username, i.User.Username
	}
	for _, s := range []*string{&f.Username, &f.Impersonator, &f.UserAgent, &f.Verb} {
		*s = unique.Make(*s).Value()
	}
	return f
}
