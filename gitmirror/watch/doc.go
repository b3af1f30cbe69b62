// Package watch follows the objects of a cluster and hands every change of one on with the state before it.
//
// There is one stream for each resource in each namespace, whoever asks for it and however many: the first Subscription
// starts it, the last one to close ends it. Listing, streaming lists, resuming after a cut, and starting over when the
// API server has forgotten where we were are client-go's; this package compares what comes of it with the last state
// it knew, so that a change that happened while nobody watched is still a change and a deletion still a deletion. Both
// are marked as replayed, because several requests may be behind one of them.
//
// An object is its uid: one that is deleted and made again under its name is two objects.
//
// It never judges a change and never drops a part of an object; managed fields stay, whoever reads them needs them. It
// keeps one copy of every object of a stream in memory, so a stream costs what its objects do and no more, and shares it
// with all who subscribed: nobody may write to an object of an Event.
//
// A subscriber that does not read stops its stream after a few dozen events, for every other subscriber too: nothing is
// dropped and nothing piles up here. The API server then ends the watch, and it goes on later where it stopped.
package watch
