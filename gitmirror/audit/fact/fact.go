package fact

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Key names what a fact is about: one version of one object, or the deletion of it.
type Key struct {
	UID types.UID

	// ResourceVersion is the one the write resulted in; empty: the object's deletion.
	ResourceVersion string
}

// DeletionOf returns the key for the deletion of an object. It equals no key of a write, so that a fact about a write
// never names who deleted, nor the other way round.
func DeletionOf(uid types.UID) Key { return Key{UID: uid} }

// Fact says who made one request that the API server answered with success.
type Fact struct {
	// Username is whom the API server acted for: the impersonated user where there is one.
	Username string

	// Impersonator is who acted in the name of Username; empty: nobody.
	Impersonator string

	// UserAgent is what the client said of itself, cut to maxUserAgent bytes. A client can say anything.
	UserAgent string

	// Verb is create, update, patch or delete.
	Verb string

	// AuditID is the request's id; a client can choose it, so it is no key.
	AuditID string

	// Received and At are when the request reached the API server and when it was answered, UTC; zero: not said.
	Received, At time.Time
}

// Writer returns which of two facts about the same version is the one that made it, and false when that cannot be told.
//
// Two requests end at one version when one of them changed nothing: it was answered with the version it found. It must
// have found it after the other had written it, so where one request was over before the other began, the earlier one
// is the writer. Where they overlap neither is proven, unless both are of one user: then the one already known stays.
func Writer(known, other Fact) (Fact, bool) {
	switch {
	case known.over(other):
		return known, true
	case other.over(known):
		return other, true
	}
	return known, known.Username == other.Username && known.Impersonator == other.Impersonator
}

// over says whether f was answered before other reached the API server.
func (f Fact) over(other Fact) bool {
	return !f.At.IsZero() && !other.Received.IsZero() && f.At.Before(other.Received)
}
