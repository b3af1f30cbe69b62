package statuspage

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the example in docs/status.md again")

const page = "../../docs/status.md"

// example are the triggers of the documentation: one in the middle of an operation, one nobody names.
func example() []v1alpha1.FluxTrigger {
	const first, second = "1f0e8d5c7b3a49621f0e8d5c7b3a49621f0e8d5c", "9c4b2a7d6e8f01359c4b2a7d6e8f01359c4b2a7d"
	shop := trigger("team-shop", "shop")
	shop.Spec.KustomizationRef = v1alpha1.NamespacedReference{Namespace: "flux-system", Name: "shop"}
	done := v1alpha1.Operation{
		RequestID: "R2KQ5WXM7T4ZC3HJ6PYBNLDV5A", Origin: v1alpha1.OriginRequest, Phase: v1alpha1.OperationSucceeded, Reason: v1alpha1.ApplyPublish,
		Commit: first, Token: "holdfast-2026-03-01T11:02:09.413907225Z-K7Q2MXAB", SuspendToken: "holdfast-2026-03-01T11:02:10.870114052Z-B4TT0PQE",
		ApplierUID: "6d0f0f0e-3d0c-4f0e-9a51-0c8a5b0f7a11", SourceRef: "flux-system/shop",
		AppliedRevision: "main@sha1:" + first, RequestedAt: at(-3471), StartedAt: ptr(at(-3470)), FinishedAt: ptr(at(-3468)),
		Result: v1alpha1.ReasonApplied, Message: "applied main@sha1:" + first,
	}
	now := v1alpha1.Operation{
		RequestID: "7WNTE3YQMB5RKD2PXC6HJVZA4L", Origin: v1alpha1.OriginRequest, Phase: v1alpha1.OperationRunning, Reason: v1alpha1.ApplyForeignCommit,
		Commit: second, Token: "holdfast-2026-03-01T11:59:56.226035871Z-W1ZX9H3C", ApplierUID: done.ApplierUID, SourceRef: "flux-system/shop",
		Controller: "kustomize-controller-7d9_2f1c", RequestedAt: at(-4), StartedAt: ptr(at(-3)),
		Message: "resumed; waiting for kustomize-controller to start",
	}
	shop.Status = v1alpha1.FluxTriggerStatus{
		Conditions: []metav1.Condition{
			{Type: "Ready", Status: "True", Reason: "Succeeded", Message: "Kustomization flux-system/shop is held", LastTransitionTime: at(-7200)},
			{Type: "Configured", Status: "True", Reason: "Succeeded", Message: "bound by GitTarget shop", LastTransitionTime: at(-7230)},
			{Type: "Held", Status: "True", Reason: "Applying", Message: "commit " + second + ": " + now.Message, LastTransitionTime: at(-7200)},
		},
		Request:            &v1alpha1.ApplyRequest{ID: "Q5LDV3BXR6CT2MHKZ7NPJWY4EA", Reason: v1alpha1.ApplyPublish, Commit: second, Revision: "main@sha1:" + second, RequestedAt: at(-1)},
		Source:             &v1alpha1.TriggerSource{GitRepository: v1alpha1.NamespacedReference{Namespace: "flux-system", Name: "shop"}, URL: "https://git.example/shop.git", Branch: "main"},
		Operation:          &now,
		LastHandledRequest: &v1alpha1.HandledRequest{ID: "R2KQ5WXM7T4ZC3HJ6PYBNLDV5A", Outcome: v1alpha1.OutcomeSucceeded, Token: done.Token, Message: done.Message},
		BehindSince:        ptr(at(-6)),
		Holder:             "flux-system/holdfast-holder-kustomize-controller-7d9",
		History:            []v1alpha1.Operation{done},
	}
	const unnamed = "no GitTarget in this namespace names this trigger in spec.applyTriggerRef, so it holds nothing"
	idle := trigger("team-web", "web")
	idle.Status.Conditions = []metav1.Condition{
		{Type: "Ready", Status: "True", Reason: "NotReferenced", Message: unnamed, LastTransitionTime: at(-60)},
		{Type: "Configured", Status: "Unknown", Reason: "NotReferenced", Message: unnamed, LastTransitionTime: at(-60)},
		{Type: "Held", Status: "False", Reason: "NotReferenced", Message: unnamed, LastTransitionTime: at(-60)},
	}
	return []v1alpha1.FluxTrigger{idle, shop}
}

func TestTheExampleInTheDocumentationIsWhatIsServed(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	s := Build(noon, example(), Leadership{Holder: "flux-system/holdfast-holder-kustomize-controller-7d9", Leads: true, Controller: "kustomize-controller-7d9_2f1c"})
	body, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "```json\n")
	shown, after, ends := strings.Cut(rest, "\n```\n")
	if !ok || !ends {
		t.Fatalf("%s has no block of JSON", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+"```json\n"+string(body)+"\n```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(shown, string(body)); diff != "" {
		t.Errorf("run this test with -update and review the change (-documented +served):\n%s", diff)
	}
}

func TestTheDocumentationNamesEveryField(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, tables, ok := strings.Cut(string(text), "\n## Fields\n")
	if !ok {
		t.Fatalf("%s has no section Fields", page)
	}
	for _, kind := range []any{Status{}, Counts{}, Leadership{}, Claim{}, Applier{}, Step{}, Operation{}} {
		of := reflect.TypeOf(kind)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(tables, "`"+name+"`") {
				t.Errorf("%s.%s is in no table", of.Name(), name)
			}
		}
	}
}
