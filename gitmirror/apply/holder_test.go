package apply

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// renewed is a Lease of 30s that was seen to change so long ago.
func renewed(ago time.Duration) Lease {
	return Lease{Present: true, Since: noon.Add(-ago), Lasts: 30 * time.Second, Renewed: true}
}

// held is a trigger whose holder renews its Lease and has answered; each row changes one thing.
func held(change ...func(*HolderSeen)) HolderSeen {
	s := HolderSeen{Now: noon, Lease: renewed(10 * time.Second), Status: v1alpha1.FluxTriggerStatus{
		Holder:             "flux-system/holdfast-holder-kc-0",
		Request:            &v1alpha1.ApplyRequest{ID: "r1"},
		LastHandledRequest: &v1alpha1.HandledRequest{ID: "r1", Outcome: v1alpha1.OutcomeSucceeded},
	}}
	for _, f := range change {
		f(&s)
	}
	return s
}

func lease(l Lease) func(*HolderSeen) { return func(s *HolderSeen) { s.Lease = l } }

func unnamed(s *HolderSeen) { s.Status.Holder = "" }

func never(s *HolderSeen) { s.Status.Request, s.Status.LastHandledRequest = nil, nil }

// pending has the newest request unanswered for so long.
func pending(ago time.Duration) func(*HolderSeen) {
	return func(s *HolderSeen) { s.Status.LastHandledRequest, s.UnansweredSince = nil, noon.Add(-ago) }
}

func reconciling(s *HolderSeen) {
	s.Status.Conditions = []metav1.Condition{{Type: string(v1alpha1.ConditionReconciling), Status: metav1.ConditionTrue}}
}

func busy(s *HolderSeen) {
	s.Status.Operation = &v1alpha1.Operation{RequestID: "r0", Phase: v1alpha1.OperationUnresolved}
}

func TestHolder(t *testing.T) {
	const stays, there, gone = metav1.ConditionStatus(""), metav1.ConditionTrue, metav1.ConditionFalse
	second := time.Second
	for _, row := range []struct {
		says  string
		seen  HolderSeen
		want  metav1.ConditionStatus
		wait  time.Duration
		names string
	}{
		{"a renewed Lease is a holder", held(), there, 20 * second, ""},
		{"also before anything was asked of it", held(never), there, 20 * second, ""},
		{"a Lease that is not renewed for as long as it lasts is none", held(lease(renewed(30 * second))), gone, 0, "holdfast-holder-kc-0"},
		{"whatever its holder still says that it waits for", held(lease(renewed(30*second)), reconciling, busy), gone, 0, "30s"},
		{"a Lease that was only seen as it is says nothing yet", held(lease(Lease{Present: true, Since: noon, Lasts: 30 * second})), stays, 30 * second, ""},
		{"and is none once it had its time", held(lease(Lease{Present: true, Since: noon.Add(-30 * second), Lasts: 30 * second})), gone, 0, ""},
		{"a Lease that is gone may only be late", held(lease(Lease{Since: noon.Add(-4 * second)})), stays, second, ""},
		{"a Lease that stays away is none", held(lease(Lease{Since: noon.Add(-5 * second)})), gone, 0, "is gone"},
		{"a request has half a minute", held(pending(29 * second)), stays, second, ""},
		{"looked at again before that if the Lease ends sooner", held(pending(second), lease(renewed(25*second))), stays, 5 * second, ""},
		{"then nobody answers, though the Lease is renewed", held(pending(30 * second)), gone, 0, "request r1"},
		{"a holder that says what it waits for may take its time", held(pending(time.Hour), reconciling), there, 20 * second, ""},
		{"so may one at work on something else", held(pending(time.Hour), busy), there, 20 * second, ""},
		{"not one whose Lease is not known to be renewed", held(pending(time.Hour), reconciling, lease(Lease{Present: true, Since: noon, Lasts: 30 * second})), gone, 0, ""},
		{"without a Lease an answer is a sign of life", held(unnamed), there, 0, ""},
		{"without a Lease and an answer nothing is known", held(unnamed, never), stays, 0, ""},
		{"without a Lease a request has half a minute too", held(unnamed, pending(30*second)), gone, 0, "request r1"},
	} {
		t.Run(row.says, func(t *testing.T) {
			got := Holder(row.seen)
			if got.Status != row.want || got.Wait != row.wait || !strings.Contains(got.Message, row.names) {
				t.Errorf("got %+v, want %q after %s naming %q", got, row.want, row.wait, row.names)
			}
			if reason := map[metav1.ConditionStatus]v1alpha1.Reason{there: v1alpha1.ReasonHolderRunning, gone: v1alpha1.ReasonHolderMissing}[row.want]; got.Reason != reason {
				t.Errorf("because of %q", got.Reason)
			}
		})
	}
}

func TestOnlyARequestWithoutAnswerAndOperationIsUnanswered(t *testing.T) {
	request := &v1alpha1.ApplyRequest{ID: "r1"}
	for _, row := range []struct {
		says   string
		status v1alpha1.FluxTriggerStatus
		want   bool
	}{
		{"none was made", v1alpha1.FluxTriggerStatus{}, false},
		{"one was made", v1alpha1.FluxTriggerStatus{Request: request}, true},
		{"it has its answer", v1alpha1.FluxTriggerStatus{Request: request, LastHandledRequest: &v1alpha1.HandledRequest{ID: "r1"}}, false},
		{"an older one has", v1alpha1.FluxTriggerStatus{Request: request, LastHandledRequest: &v1alpha1.HandledRequest{ID: "r0"}}, true},
		{"it has its operation", v1alpha1.FluxTriggerStatus{Request: request, Operation: &v1alpha1.Operation{RequestID: "r1"}}, false},
		{"a person's operation is not its own", v1alpha1.FluxTriggerStatus{Request: request, Operation: &v1alpha1.Operation{Origin: v1alpha1.OriginManual}}, true},
	} {
		if got := Unanswered(row.status); got != row.want {
			t.Errorf("%s: %t, want %t", row.says, got, row.want)
		}
	}
}

func TestMemoryMeasuresByWhatItSaw(t *testing.T) {
	asked := v1alpha1.FluxTriggerStatus{Holder: "a/b", Request: &v1alpha1.ApplyRequest{ID: "r1", RequestedAt: metav1.NewTime(noon.Add(-time.Hour))}}
	m := Memory{}.Saw(asked, nil, noon).Saw(asked, nil, noon.Add(4*time.Second))
	if !m.unansweredSince.Equal(noon) || !m.absentSince.Equal(noon) {
		t.Errorf("seen since %v and %v", m.unansweredSince, m.absentSince)
	}
	if got := m.Holder(asked, nil, noon.Add(5*time.Second)); got.Status != metav1.ConditionFalse {
		t.Errorf("a Lease that is away for 5s: %+v", got)
	}
	asked.Request, asked.Holder = &v1alpha1.ApplyRequest{ID: "r2"}, "a/c"
	if m = m.Saw(asked, nil, noon.Add(time.Minute)); m.unansweredSince != noon.Add(time.Minute) || m.absentSince != noon.Add(time.Minute) {
		t.Errorf("another request and another Lease are seen since %v and %v", m.unansweredSince, m.absentSince)
	}
	asked.LastHandledRequest = &v1alpha1.HandledRequest{ID: "r2", Outcome: v1alpha1.OutcomeCurrent}
	if m = m.Saw(asked, &Lease{}, noon.Add(time.Hour)); !m.unansweredSince.IsZero() || !m.absentSince.IsZero() {
		t.Errorf("answered, with a Lease, and still since %v and %v", m.unansweredSince, m.absentSince)
	}
}
