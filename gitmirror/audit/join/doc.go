// Package join puts observed changes and the facts about them together.
//
// It decides when a change goes on, and with whose name: at once with the fact about exactly its uid and
// resourceVersion, or without one when the time it may wait is over. Changes of one object go on in the order they were
// observed, so the first of an object's changes holds back the later ones, and no other object's.
//
// It never looks for a name by other means, and it never puts a name on a change that has gone on: a fact that comes
// later finds nothing to join.
package join
