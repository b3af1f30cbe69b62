package status

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// MaxMessage bounds a message in bytes. The API server takes longer ones in conditions, and refuses longer ones in the
// status fields of this group; nobody reads them.
const MaxMessage = 1024

// Set puts the condition t into conds, in place of one of that type or as the last one. Its transition time is now, in
// whole seconds, unless a condition of that type already had the status s: then it keeps the time it had.
// The message is Message(format, args…). gen is the generation the condition speaks of.
func Set(conds *[]metav1.Condition, t v1alpha1.ConditionType, s metav1.ConditionStatus, r v1alpha1.Reason,
	gen int64, now time.Time, format string, args ...any,
) {
	next := metav1.Condition{
		Type:               string(t),
		Status:             s,
		Reason:             string(r),
		ObservedGeneration: gen,
		LastTransitionTime: metav1.NewTime(now.UTC().Truncate(time.Second)),
		Message:            Message(format, args...),
	}
	old := Get(*conds, t)
	if old == nil {
		*conds = append(*conds, next)
		return
	}
	if old.Status == s && !old.LastTransitionTime.IsZero() {
		next.LastTransitionTime = old.LastTransitionTime
	}
	*old = next
}

// Get returns the condition of type t inside conds, or nil. What it points to belongs to conds.
func Get(conds []metav1.Condition, t v1alpha1.ConditionType) *metav1.Condition {
	for i := range conds {
		if conds[i].Type == string(t) {
			return &conds[i]
		}
	}
	return nil
}

// IsTrue says that conds holds t with status True. A condition that is absent is not True.
func IsTrue(conds []metav1.Condition, t v1alpha1.ConditionType) bool {
	c := Get(conds, t)
	return c != nil && c.Status == metav1.ConditionTrue
}

// Clear takes the condition t out of conds. Reconciling and Stalled are absent when they are not True, as kstatus has it.
func Clear(conds *[]metav1.Condition, t v1alpha1.ConditionType) {
	*conds = slices.DeleteFunc(*conds, func(c metav1.Condition) bool { return c.Type == string(t) })
}

// Message returns the formatted text as valid UTF-8 of at most MaxMessage bytes; a longer one is cut between characters
// and ends in an ellipsis. A text from elsewhere is an argument, never the format.
func Message(format string, args ...any) string {
	text := strings.ToValidUTF8(fmt.Sprintf(format, args...), "\uFFFD")
	if len(text) <= MaxMessage {
		return text
	}
	const ellipsis = "…"
	end := MaxMessage - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
