package hold

import "github.com/holdfast-gitops/holdfast/api/v1alpha1"

// maxRuns bounds the operations of one request whose runs applied something else than was asked for.
const maxRuns = 3

// again says that a finished operation is carried out once more before its request is answered: it ran, and applied
// another revision than the one its source held all the while. kustomize-controller reads sources from a cache of its own,
// which was behind; it cannot be seen from outside how far that is, but it catches up.
func (s Seen) again(op v1alpha1.Operation) bool {
	if op.Result != v1alpha1.ReasonRevisionMismatch || s.leaving() || s.refusal() != nil || !isAt(s.tip(), op.Commit) {
		return false
	}
	runs := 1
	for _, h := range s.Trigger.Status.History {
		if h.RequestID == op.RequestID && h.Token != op.Token {
			runs++
		}
	}
	return runs < maxRuns
}
