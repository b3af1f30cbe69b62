// Command bench measures what holding costs, in one world it starts for itself: a real API server, real Flux, a real Git
// server, and the holder and gitmirror of this checkout. `make bench` runs it.
//
// Every comparison is of runs that take turns in the same world, and the one that begins alternates too, so that whatever
// else the machine does is shared by both. What counts is the ratio of the medians; the times are this machine's. The
// first round of each comparison warms up and is not counted. A goal that is missed is printed and is no error; the
// exit code is 1 only when something did not work.
//
// # The held cycle
//
// From sending a request on the trigger's status until the trigger says that the operation Succeeded for that commit and
// that the Kustomization is Held=Suspended. bench writes the request itself, as gitmirror would, so that no quiet period
// counts. It is compared with what a person does who has no Holdfast: stamp the GitRepository, wait until the
// artifact is the commit, stamp the Kustomization, wait until that is handled and lastAppliedRevision is the commit. Both
// repositories get the same commit just before, in which every ConfigMap changes. Both ends are seen on watches of the
// same kind by the same process.
//
// kustomize-controller also starts a run when an artifact changes. In the bare cycle that run has usually begun when the
// stamp comes, and the stamp is handled by a second run after it, while a held cycle has one. So the held cycle is also
// compared with what is less than a person can wait for: until the bare twin's lastAppliedRevision is the commit, by
// whichever run.
//
// The phases of the held cycle are the times between what the watches showed. The request ends at its answer by the API
// server. A phase whose sign arrives on another watch can be off by what the two watches differ in, about a millisecond.
//
// # An edit
//
// From the API server's answer to alice's patch until the branch on the Git server is another commit, with idleTimeout 0
// and gitmirror watching. It is compared with `git commit -am` and `git push` of the same change to a repository with
// the same content, from starting git until the branch is another commit. Both ends are seen by reading the branch's file
// every millisecond. git sends its password with the first request, as gitmirror does, so neither pays for a refusal.
//
// The API server collects audit events for up to 100 ms before it sends them. How long an event is on its way is measured
// beforehand with a receiver that does nothing else, and printed: it is the part of an edit's way that gitmirror cannot
// shorten, because it puts no name on a change without that proof.
//
// # A crowd
//
// As many operations at once as -at-once says, each of a trigger with a repository, a GitRepository and a Kustomization of its
// own and one ConfigMap: from sending the first request until the last trigger says Succeeded and Held=Suspended. It is
// compared with one such operation alone, of another of those triggers each round. How many could go on at once is not the
// holder's to say: source-controller and kustomize-controller run as they come, with two and four workers.
//
// # Pods
//
// From when a pod of kustomize-controller is due until the API server has made it, in two namespaces of which one lets
// holders in, so that the webhook is asked about its pods and about no others. First the API server is calibrated: how many
// such pods a second it makes, half of them with the webhook, for clients that make one after the other. The comparison is at
// half of that, because a full queue would hide everything else, and pods are due at that rate whether or not those before are made.
// What counts is the ratio of the 99th percentiles: a webhook is noticed by the few that wait for it. How many pods came
// without a holder is printed too: a webhook that takes longer than its five seconds is passed over.
//
// # Many
//
// Kustomizations held by one holder, as many as -held says, and a tenth of them before. They are made while no holder runs,
// suspended, so that Flux does not apply each first; the second start finds the tenth held. For this part the API server is
// started anew with a log of all requests of the holder and of kustomize-controller.
//
// API requests are counted in one minute in which nothing happens, at both numbers, and the goal is that they are as many.
// The renewals of the holder's own Lease, and the watches that it begins anew, are counted apart: they keep it alive, and
// are no more with more Kustomizations. The holder is started before each count and renews a watch after five to ten
// minutes, so that there is usually none.
//
// Resident memory is read at the end of that minute. What one more held Kustomization takes is the difference of the two
// holders by the difference in number; what both need anyway is not in it. Of the heap, the part that was live at the last
// garbage collection is shown too: the rest is room that the Go runtime keeps.
//
// Adoption is from the holder's first request, which it makes as it starts, until every trigger is Held, step by step as
// watches show them, with what it asked of the API server: how many requests for each adoption, how long one took on average
// from its arrival to its answer, and how many were under way at a time. Where that is far below the number of the
// program's workers, they wait for a turn on the processors and not for each other.
package main
