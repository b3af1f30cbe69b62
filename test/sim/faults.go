package sim

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-gitops/holdfast/test/sim/apiserver"
)

// fate is what becomes of one effect of the holder.
type fate string

const (
	lands           fate = "lands"
	answerLost      fate = "lands, and the answer is lost"
	neverSent       fate = "is never sent, and times out"
	comesLate       fate = "times out, and comes late"
	forbidden       fate = "is forbidden"
	killedBefore    fate = "finds the holder killed before it"
	killedAfter     fate = "lands, and the holder is killed"
	killedComesLate fate = "finds the holder killed, and comes late"
)

// crashes are the points around an effect at which a holder can be killed.
var crashes = []fate{killedBefore, killedAfter, killedComesLate}

// troubles are all fates but the good one.
var troubles = append([]fate{answerLost, neverSent, comesLate, forbidden}, crashes...)

// faults decide the fates: by chance, or one planned for the nth effect.
type faults struct {
	chance  float64 // of trouble, for each effect
	planned map[int]fate
	named   map[string]fate // planned, for the first effect of that name
	effects int             // so far
}

func (f *faults) fate(w *World, what string) fate {
	f.effects++
	if p, ok := f.named[what]; ok {
		delete(f.named, what)
		return p
	}
	if p, ok := f.planned[f.effects]; ok {
		return p
	}
	if f.chance > 0 && w.rand.Float64() < f.chance {
		return troubles[w.rand.IntN(len(troubles))]
	}
	return lands
}

func (f *faults) failsRead(w *World) bool { return f.chance > 0 && w.rand.Float64() < f.chance/10 }

// effect names a write of the holder by what it does and not by what it carries, so that equal effects have equal names.
func effect(w apiserver.Write) string {
	u := &unstructured.Unstructured{Object: w.Body}
	kind := w.Kind.GVK.Kind
	switch {
	case w.Status:
		return "writes the status of the " + kind
	case w.Verb == apiserver.Create:
		return "creates an " + kind
	case w.Verb == apiserver.Delete:
		return "deletes the " + kind
	}
	var parts []string
	if metadata, ok := u.Object["metadata"].(map[string]any); ok {
		if f, there := metadata["finalizers"]; there {
			if list, _ := f.([]any); len(list) == 0 {
				parts = append(parts, "no finalizers")
			} else {
				parts = append(parts, "finalizers")
			}
		}
		if a, _ := metadata["annotations"].(map[string]any); len(a) > 0 {
			parts = append(parts, "annotations")
		}
	}
	if suspend, there, _ := unstructured.NestedBool(w.Body, "spec", "suspend"); there {
		parts = append(parts, fmt.Sprintf("suspend %v", suspend))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing")
	}
	verb := "applies"
	if w.Verb == apiserver.Patch {
		verb = "patches"
	}
	return fmt.Sprintf("%s %s: %s", verb, kind, strings.Join(parts, ", "))
}
