// Package fact reads what an audit event of the API server proves about who made a version of an object.
//
// It decides which events count: answered with success, not a dry run, of a verb that writes one object, and carrying
// that object's uid and the resourceVersion the write resulted in. That pair is the only key there is for a write. A
// name or a time would be a guess, and a name is put on a change only with proof.
//
// It never reads the content of an object: what changed comes from the watch, so an event whose bodies were cut off, or
// whose body is a list of patch operations, costs a name at most and never an edit.
package fact
