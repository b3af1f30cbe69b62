package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/internal/statusapply"
	"github.com/holdfast-gitops/holdfast/sidecar/hold"
)

func TestTheStatusBodyHoldsAllTheHolderOwnsAndNothingElse(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
	trigger := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "app", UID: "uid", ResourceVersion: "7"}}
	own := hold.Own(v1alpha1.FluxTriggerStatus{
		ObservedGeneration: 2,
		Conditions: []metav1.Condition{
			{Type: "Held", Status: "True", Reason: "Suspended", LastTransitionTime: at},
			{Type: "HolderAvailable", Status: "True", Reason: "Mine", LastTransitionTime: at},
		},
		Request:   &v1alpha1.ApplyRequest{ID: "r1", RequestedAt: at},
		Operation: &v1alpha1.Operation{RequestID: "r1", Origin: "Request", Phase: "Requested", Reason: "Publish", Commit: "c", Token: "t", ApplierUID: "k", RequestedAt: at},
	})
	body, err := statusapply.Body("FluxTrigger", trigger, &own)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "holdfast.dev/v1alpha1",
		"kind":       "FluxTrigger",
		"metadata":   map[string]any{"namespace": "team", "name": "app", "uid": "uid", "resourceVersion": "7"},
		"status": map[string]any{
			"observedGeneration": int64(2),
			"conditions": []any{map[string]any{
				"type": "Held", "status": "True", "reason": "Suspended", "message": "", "lastTransitionTime": "2026-03-01T10:00:00Z",
			}},
			"operation": map[string]any{
				"requestID": "r1", "origin": "Request", "phase": "Requested", "reason": "Publish", "commit": "c", "token": "t", "applierUID": "k",
				"requestedAt": "2026-03-01T10:00:00Z",
			},
		},
	}
	if diff := cmp.Diff(want, body.Object); diff != "" {
		t.Error(diff)
	}
}

func TestNothingInTheStatusBodyIsNull(t *testing.T) {
	s := newStage(t)
	s.hold()
	s.request("r1")
	s.pass()
	f := s.trigger()
	own := hold.Own(f.Status)
	body, err := statusapply.Body("FluxTrigger", f, &own)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case nil:
			t.Errorf("%s is null", path)
		case map[string]any:
			for k, e := range v {
				walk(path+"."+k, e)
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), e)
			}
		}
	}
	walk("", body.Object)
}

func TestTokensDiffer(t *testing.T) {
	if a, b := NewToken(), NewToken(); a == b {
		t.Errorf("%s twice", a)
	}
}

func TestAnEventOfATriggerWithALongNameHasAValidName(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 199) + "-b", strings.Repeat("a", 199) + ".b", strings.Repeat("a", 253), "a"} {
		s := hold.Seen{Now: time.Now(), Trigger: &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}}
		if e := newEvent(s, hold.Event{}); len(validation.IsDNS1123Subdomain(e.Name)) != 0 {
			t.Errorf("%s: %v", e.Name, validation.IsDNS1123Subdomain(e.Name))
		}
	}
}
