package page

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// clock is the holder's: an hour the triggers in testdata are written for.
func clock() time.Time { return began.Add(time.Since(processBegan)) }

var (
	processBegan = time.Now()
	began        = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// fleet are triggers as a holder leaves them, one in each state a person may find.
func fleet(t *testing.T) []v1alpha1.FluxTrigger {
	t.Helper()
	text, err := os.ReadFile("../../sidecar/statuspage/testdata/triggers.json")
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.FluxTriggerList
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// many are n triggers like those of fleet.
func many(t *testing.T, n int) []v1alpha1.FluxTrigger {
	t.Helper()
	like := fleet(t)
	all := make([]v1alpha1.FluxTrigger, n)
	for i := range all {
		all[i] = *like[i%len(like)].DeepCopy()
		all[i].Name = fmt.Sprintf("%s-%03d", all[i].Name, i)
		all[i].Spec.KustomizationRef.Name = all[i].Name
	}
	return all
}

const evil = `<img src=x onerror="window.harmed=1"><script>window.harmed=2</script>` + "\u202Eexe.gnp\u2066"

// hostile is a trigger whose every free text tries to be something else.
func hostile() v1alpha1.FluxTrigger {
	f := v1alpha1.FluxTrigger{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "hostile"},
		Spec:       v1alpha1.FluxTriggerSpec{KustomizationRef: v1alpha1.NamespacedReference{Namespace: evil, Name: evil + strings.Repeat("w", 2000)}},
	}
	at := metav1.NewTime(began.Add(-time.Minute))
	for _, c := range []string{"Ready", "Held", "Configured"} {
		f.Status.Conditions = append(f.Status.Conditions, metav1.Condition{
			Type: c, Status: "False", Reason: evil, Message: evil + strings.Repeat("long", 5000), LastTransitionTime: at,
		})
	}
	op := v1alpha1.Operation{Origin: v1alpha1.OriginExternal, By: evil, Phase: v1alpha1.OperationFailed, Reason: evil, Commit: evil, Token: evil, RequestedAt: at, FinishedAt: &at, Message: evil}
	f.Status.Operation, f.Status.History, f.Status.Holder = &op, []v1alpha1.Operation{op}, evil
	f.Status.Source = &v1alpha1.TriggerSource{GitRepository: v1alpha1.NamespacedReference{Namespace: evil, Name: evil}, URL: "javascript:window.harmed=3", Branch: evil}
	f.Status.Request = &v1alpha1.ApplyRequest{ID: "r", Reason: evil, Commit: evil, RequestedAt: at}
	return f
}

// apply makes the trigger begin an operation for commit.
func apply(commit string) func(*v1alpha1.FluxTrigger) {
	return func(f *v1alpha1.FluxTrigger) {
		now := metav1.NewTime(clock().Truncate(time.Second))
		f.Status.Operation = &v1alpha1.Operation{
			Origin: v1alpha1.OriginRequest, Phase: v1alpha1.OperationRunning, Reason: v1alpha1.ApplyPublish, Commit: commit, Token: "t",
			RequestedAt: now, StartedAt: &now, Message: "resumed; waiting for kustomize-controller to start",
		}
		set(f, "Held", "True", "Applying", "commit "+commit+": resumed; waiting for kustomize-controller to start")
	}
}

// set changes a condition.
func set(f *v1alpha1.FluxTrigger, kind, status, reason, message string) {
	for i := range f.Status.Conditions {
		if c := &f.Status.Conditions[i]; c.Type == kind {
			c.Status, c.Reason, c.Message = metav1.ConditionStatus(status), reason, message
		}
	}
}
