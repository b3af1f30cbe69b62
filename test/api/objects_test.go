package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// full is each kind with every field of its spec, and with a status that has every field that is not a condition's own.
var full = map[string]string{
	"KubeProvider": `
spec:
  inCluster: true
  accessFrom: {namespaceSelectors: [{matchLabels: {team: a}}]}
  allowCrossNamespace: {appliers: true}
status:
  observedGeneration: 1
  conditions:
    - {type: Ready, status: "True", reason: Succeeded, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
    - {type: AuditFactsReceived, status: "False", reason: NoAuditFacts, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
`,
	"GitProvider": `
spec:
  url: https://git.example.org/team-a/fleet.git
  secretRef: {name: fleet-git}
  allowedBranches: [main]
  commit: {committer: {name: Holdfast, email: holdfast@example.org}}
status:
  observedGeneration: 1
  conditions:
    - {type: Ready, status: "False", reason: Unreachable, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
`,
	"GitTarget": `
spec:
  gitProviderRef: {name: fleet}
  kubeProviderRef: {name: default}
  branch: main
  path: apps
  commit: {idleTimeout: 5s, maxDuration: 30s}
  applyTriggerRef: {kind: FluxTrigger, name: app}
status:
  observedGeneration: 1
  commit: c0ffee
  conditions:
    - {type: Ready, status: Unknown, reason: Progressing, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
`,
	"WatchRule": `
spec:
  gitTargetRef: {name: fleet}
  rules: [{apiGroups: [apps], resources: [deployments]}]
status:
  observedGeneration: 1
  conditions:
    - {type: Ready, status: "False", reason: GitTargetNotFound, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
`,
	"FluxTrigger": `
spec:
  kubeProviderRef: {name: default}
  kustomizationRef: {namespace: flux-system, name: app}
  quietPeriod: 30s
  onDelete: Resume
  selfManaged: Refuse
status:
  observedGeneration: 1
  conditions:
    - {type: Ready, status: "False", reason: ApplyFailed, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
    - {type: Held, status: "True", reason: Suspended, message: "", lastTransitionTime: "2030-01-02T03:04:05Z"}
  request: {id: r1, reason: Publish, commit: c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff, revision: "main@sha1:c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff", requestedAt: "2030-01-02T03:04:05Z"}
  source: {gitRepository: {namespace: flux-system, name: app}, url: "https://git.example.org/app", branch: main}
  operation: &operation
    requestID: r1
    origin: Request
    by: field manager flux (Update)
    sourceRef: flux-system/app
    freezeToken: t3
    specDigest: "sha256:c0ffee"
    controller: kustomize-controller-0_1
    abandoned: OperationUnfollowed
    phase: Failed
    reason: Publish
    commit: c0ffee
    token: t1
    suspendToken: t2
    applierUID: k1
    before: {readyTransition: "2030-01-02T03:04:05Z", readyReason: Progressing, historyDigest: d1, historyStatus: s1, historyTotal: 7}
    appliedRevision: main@sha1:c0ffee
    requestedAt: "2030-01-02T03:04:05Z"
    startedAt: "2030-01-02T03:04:05Z"
    finishedAt: "2030-01-02T03:04:05Z"
    message: NotReady
  lastHandledRequest: {id: r1, outcome: Failed, token: t1, message: NotReady}
  lastHandledManual: {id: manual-1, outcome: Current, message: ""}
  atRest: {applierUID: k1, readyReason: Progressing, historyTotal: 7}
  releasingSince: "2030-01-02T03:04:05Z"
  behindSince: "2030-01-02T03:04:05Z"
  holder: flux-system/holdfast-holder-0
  history: [*operation]
`,
}

// read returns an object of kind with the fields that text, YAML, says.
func read(t *testing.T, kind, name, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.NewYAMLToJSONDecoder(strings.NewReader(text)).Decode(&o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	o.SetName(name)
	if kind != "KubeProvider" {
		o.SetNamespace("team-a")
	}
	return o
}

// create puts a full object of kind into the cluster, with its status, and returns it as it is there.
func create(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	said := read(t, kind, name, full[kind])
	o := said.DeepCopy()
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context is over by now
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := admin.Delete(ctx, o); err != nil {
			t.Error(err)
		}
	})
	o.Object["status"] = said.Object["status"]
	if err := admin.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// place sets what is at path below v, such as spec.rules[].resources[], where [] is the first element; nil takes it out.
func place(v any, path string, value any) {
	step, rest, deeper := strings.Cut(path, ".")
	key, listed := strings.CutSuffix(step, "[]")
	m := v.(map[string]any)
	switch {
	case listed && deeper:
		place(m[key].([]any)[0], rest, value)
	case listed:
		m[key] = []any{value}
	case deeper:
		place(m[key], rest, value)
	case value == nil:
		delete(m, key)
	default:
		m[key] = value
	}
}
