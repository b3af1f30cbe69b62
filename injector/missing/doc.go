// Package missing looks for pods that should have a holder and have none: made while no injector answered, before their
// namespace was labelled, or of a kind that no holder fits into.
//
// Such a pod is safe, because what is held stays held by a field in the API, and useless, because its controller cannot be
// told to apply. So it is told of: by an Event on the pod, once, and by a metric for as long as it is so.
//
// Only when asked to does the injector restart such pods, by evicting them, which budgets may forbid. It evicts one pod of
// a workload at a time, and none of a workload whose next pod came without a holder as well: something else is wrong then,
// and evicting on would only do harm. What was evicted is written down first, so that the next leader knows.
//
// One replica does this, the one that leads.
package missing
