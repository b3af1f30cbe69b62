package statuspage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at is the instant s seconds after noon.
func at(s int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(s) * time.Second)) }

func ptr[T any](v T) *T { return &v }

func trigger(namespace, name string) v1alpha1.FluxTrigger {
	return v1alpha1.FluxTrigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.FluxTriggerSpec{KustomizationRef: v1alpha1.NamespacedReference{Namespace: namespace, Name: name}},
	}
}

func TestTriggersAreShownByNamespaceAndNameWhateverTheirOrder(t *testing.T) {
	in := []v1alpha1.FluxTrigger{trigger("b", "a"), trigger("a", "z"), trigger("a", "b")}
	var got []string
	for _, a := range Build(noon, in, Leadership{}).Appliers {
		got = append(got, a.Trigger.Namespace+"/"+a.Trigger.Name)
	}
	if diff := cmp.Diff([]string{"a/b", "a/z", "b/a"}, got); diff != "" {
		t.Error(diff)
	}
	if in[0].Namespace != "b" {
		t.Error("the order of the triggers handed in was changed")
	}
}

func TestWithoutTriggersThereIsAnEmptyListAndNoNull(t *testing.T) {
	body, err := json.Marshal(Build(noon, nil, Leadership{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"status.holdfast.dev/v1","generatedAt":"2026-03-01T12:00:00Z","leadership":{"leads":false},"total":0,` +
		`"counts":{"held":0,"applying":0,"moving":0,"notHeld":0,"needAttention":0},"appliers":[]}`
	if string(body) != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}

func TestATriggerNobodyHasSpokenOfIsUnknownNotFalse(t *testing.T) {
	a := Build(noon, []v1alpha1.FluxTrigger{trigger("team", "app")}, Leadership{}).Appliers[0]
	unknown := Claim{Status: metav1.ConditionUnknown}
	if a.Held != unknown || a.Ready != unknown || a.Configured != unknown || a.HolderAvailable != nil || a.KubeProvider != "default" {
		t.Errorf("got %+v", a)
	}
}

func TestARequestWaitsUntilItIsAnsweredOrAnOperationNamesIt(t *testing.T) {
	for name, row := range map[string]struct {
		st   v1alpha1.FluxTriggerStatus
		want bool
	}{
		"none":                      {v1alpha1.FluxTriggerStatus{}, false},
		"new":                       {v1alpha1.FluxTriggerStatus{Request: &v1alpha1.ApplyRequest{ID: "r2"}}, true},
		"an older one was answered": {v1alpha1.FluxTriggerStatus{Request: &v1alpha1.ApplyRequest{ID: "r2"}, LastHandledRequest: &v1alpha1.HandledRequest{ID: "r1"}}, true},
		"answered":                  {v1alpha1.FluxTriggerStatus{Request: &v1alpha1.ApplyRequest{ID: "r2"}, LastHandledRequest: &v1alpha1.HandledRequest{ID: "r2"}}, false},
		"being carried out":         {v1alpha1.FluxTriggerStatus{Request: &v1alpha1.ApplyRequest{ID: "r2"}, Operation: &v1alpha1.Operation{RequestID: "r2"}}, false},
		"behind another operation":  {v1alpha1.FluxTriggerStatus{Request: &v1alpha1.ApplyRequest{ID: "r2"}, Operation: &v1alpha1.Operation{RequestID: "r1"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := trigger("team", "app")
			f.Status = row.st
			if got := Build(noon, []v1alpha1.FluxTrigger{f}, Leadership{}).Appliers[0].Waiting; (got != nil) != row.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestTheTimelineSaysWhatIsKnownAndNoMore(t *testing.T) {
	for name, row := range map[string]struct {
		op   v1alpha1.Operation
		want []Step
	}{
		"recorded": {
			v1alpha1.Operation{Phase: "Requested", RequestedAt: at(-5)},
			[]Step{{"Requested", ptr(at(-5)), ptr(int64(5))}},
		},
		"running": {
			v1alpha1.Operation{Phase: "Running", RequestedAt: at(-5), StartedAt: ptr(at(-3))},
			[]Step{{"Requested", ptr(at(-5)), ptr(int64(2))}, {"Running", ptr(at(-3)), ptr(int64(3))}},
		},
		"settling since nobody knows when": {
			v1alpha1.Operation{Phase: "Settling", RequestedAt: at(-5), StartedAt: ptr(at(-3))},
			[]Step{{"Requested", ptr(at(-5)), ptr(int64(2))}, {"Running", ptr(at(-3)), ptr(int64(3))}, {"Settling", nil, nil}},
		},
		"unresolved from the start": {
			v1alpha1.Operation{Phase: "Unresolved", RequestedAt: at(-5)},
			[]Step{{"Requested", ptr(at(-5)), ptr(int64(5))}, {"Unresolved", nil, nil}},
		},
		"over": {
			v1alpha1.Operation{Phase: "Failed", RequestedAt: at(-9), StartedAt: ptr(at(-8)), FinishedAt: ptr(at(-2))},
			[]Step{{"Requested", ptr(at(-9)), ptr(int64(1))}, {"Running", ptr(at(-8)), ptr(int64(6))}, {"Failed", ptr(at(-2)), nil}},
		},
		"over without having run": {
			v1alpha1.Operation{Phase: "Failed", RequestedAt: at(-9), FinishedAt: ptr(at(-2))},
			[]Step{{"Requested", ptr(at(-9)), ptr(int64(7))}, {"Failed", ptr(at(-2)), nil}},
		},
		"over, and nobody wrote when": {
			v1alpha1.Operation{Phase: "Succeeded", RequestedAt: at(-9), StartedAt: ptr(at(-8))},
			[]Step{{"Requested", ptr(at(-9)), ptr(int64(1))}, {"Running", ptr(at(-8)), nil}, {"Succeeded", nil, nil}},
		},
		"recorded by a clock that is ahead": {
			v1alpha1.Operation{Phase: "Requested", RequestedAt: at(60)},
			[]Step{{"Requested", ptr(at(60)), ptr(int64(0))}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, timeline(noon, row.op)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoCredentialOfAURLIsShown(t *testing.T) {
	const url = "https://bob:hunter2@git.example/team/app?private_token=hunter2"
	f := trigger("team", "app")
	said := metav1.Condition{Status: "False", Reason: "NotConfigured", Message: "clone " + url + ": 401"}
	for _, c := range []v1alpha1.ConditionType{"Ready", "Held", "Configured", "HolderAvailable"} {
		said.Type = string(c)
		f.Status.Conditions = append(f.Status.Conditions, said)
	}
	op := v1alpha1.Operation{Phase: "Failed", Message: said.Message}
	f.Status.Source = &v1alpha1.TriggerSource{URL: url}
	f.Status.Operation, f.Status.History = &op, []v1alpha1.Operation{op}
	f.Status.LastHandledRequest = &v1alpha1.HandledRequest{ID: "r1", Message: said.Message}
	f.Status.LastHandledManual = &v1alpha1.HandledRequest{ID: "m1", Message: said.Message}
	body, err := json.Marshal(Build(noon, []v1alpha1.FluxTrigger{f}, Leadership{}))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(body), "git.example"); n != 10 {
		t.Errorf("the URL is in %d of 10 places, so this test sees too little: %s", n, body)
	}
	if strings.Contains(string(body), "hunter2") {
		t.Errorf("a credential is in %s", body)
	}
	if f.Status.Source.URL != url || f.Status.History[0].Message != said.Message {
		t.Error("the trigger handed in was changed")
	}
}

func TestTheDocumentIsBounded(t *testing.T) {
	full := v1alpha1.FluxTriggerStatus{}
	for range 20 {
		full.History = append(full.History, v1alpha1.Operation{Phase: "Succeeded"})
	}
	full.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: strings.Repeat("x", 30000)}}
	for _, row := range []struct{ triggers, shown, omitted, history, historyOmitted int }{
		{1, 1, 0, 20, 0},
		{250, 250, 0, 20, 0},
		{500, 500, 0, 10, 10},
		{1000, 1000, 0, 5, 15},
		{1500, 1000, 500, 5, 15},
	} {
		t.Run(fmt.Sprint(row.triggers, " triggers"), func(t *testing.T) {
			var in []v1alpha1.FluxTrigger
			for i := range row.triggers {
				f := trigger("team", fmt.Sprintf("app-%04d", i))
				f.Status = full
				in = append(in, f)
			}
			s := Build(noon, in, Leadership{})
			a := s.Appliers[len(s.Appliers)-1]
			got := []int{s.Total, len(s.Appliers), s.Omitted, len(a.History), a.HistoryOmitted}
			if diff := cmp.Diff([]int{row.triggers, row.shown, row.omitted, row.history, row.historyOmitted}, got); diff != "" {
				t.Error(diff)
			}
			if len(a.Ready.Message) > 1024 {
				t.Errorf("a message of %d bytes", len(a.Ready.Message))
			}
		})
	}
}
