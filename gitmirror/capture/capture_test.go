package capture

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

// web is a Deployment Flux applied at second 10, with a status its controller wrote.
const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"1",
 "labels":{"app":"web","kustomize.toolkit.fluxcd.io/name":"shop"},"managedFields":[
 {"manager":"kustomize-controller","operation":"Apply","apiVersion":"apps/v1","time":"10","fieldsV1":{"f:spec":{"f:replicas":{},"f:paused":{}}}},
 {"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"11","subresource":"status","fieldsV1":{"f:status":{}}}]},
 "spec":{"replicas":1,"paused":true},"status":{"replicas":1}}`

// object reads a live object, with each pair's first text replaced by its second.
func object(t *testing.T, text string, pairs ...string) *unstructured.Unstructured {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the object has no %s", pairs[i])
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	obj := map[string]any{}
	if err := json.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: obj}
}

// Edits of web, as the API server would store them.
var (
	scaled      = []string{`"replicas":1,"paused"`, `"replicas":3,"paused"`, `"resourceVersion":"1"`, `"resourceVersion":"2"`}
	byKubectl   = []string{`{"manager":"kube-c`, `{"manager":"kubectl","operation":"Update","apiVersion":"apps/v1","subresource":"scale","time":"20","fieldsV1":{"f:spec":{"f:replicas":{}}}},{"manager":"kube-c`}
	byApplier   = []string{`"time":"10"`, `"time":"20"`}
	byApplierIn = []string{`"f:paused":{}`, `"f:paused":{},"f:strategy":{}`} // the same second, a field more
	unpaused    = []string{`,"paused":true`, ``, `,"f:paused":{}`, ``}
	statusToo   = []string{`"time":"11"`, `"time":"20"`}
	unlabelled  = []string{`,"kustomize.toolkit.fluxcd.io/name":"shop"`, ``}
)

func pairs(of ...[]string) []string {
	var all []string
	for _, p := range of {
		all = append(all, p...)
	}
	return all
}

// told is a candidate as a line: what is to change, and whether a document may be made.
func told(i manifest.Intent) string {
	var words []string
	for _, c := range i.Changes {
		word := fmt.Sprintf("%s=%v", c.Path, c.Value)
		if c.Remove {
			word = fmt.Sprintf("-%s", c.Path)
		}
		words = append(words, word)
	}
	if i.Create {
		words = append(words, "may be made")
	}
	if i.Made {
		words = append(words, "was made")
	}
	if i.Gone {
		words = append(words, "is gone")
	}
	return strings.Join(words, " ")
}

func TestConsiderKeepsWhatMayBeAnEdit(t *testing.T) {
	const cm = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app","namespace":"shop","uid":"u2","resourceVersion":"7"},"data":{"k":"v"}}`
	kind := func(apiVersion, kind string) string {
		return strings.NewReplacer(`"v1"`, `"`+apiVersion+`"`, "ConfigMap", kind).Replace(cm)
	}
	const live, initial, replayed = "live", "initial", "replayed"
	for _, row := range []struct {
		says     string
		how      string
		old, new string
		change   []string // from old to new
		skip     Skip
		want     string
	}{
		{"an edit is the fields that changed", live, web, web, scaled, "", "spec.replicas=3"},
		{"a field taken out is one", live, web, web, unpaused, "", "-spec.paused"},
		{"of an object the applier did not place a document may be made", live, cm, cm, []string{`"v"`, `"w"`}, "", "data.k=w may be made"},
		{"a replayed change is an edit too", replayed, web, web, scaled, "", "spec.replicas=3"},
		{"a new status is none", live, web, web, pairs(statusToo, []string{`"status":{"replicas":1}`, `"status":{"replicas":3}`}), Unchanged, ""},
		{"a mark of the applier is none", live, web, web, []string{`"kustomize.toolkit.fluxcd.io/name":"shop"`, `"kustomize.toolkit.fluxcd.io/name":"other"`}, Unchanged, ""},
		{"a new object may be made, and a document there is should say it", live, "", cm, nil, "", "may be made was made"},
		{"a new object the applier placed came from Git", live, "", web, nil, PlacedByApplier, ""},
		{"a copy somebody made, label and all, is somebody's", live, "", strings.Replace(web, `"manager":"kustomize-controller"`, `"manager":"kubectl-create"`, 1), nil, "", "may be made was made"},
		{"but not when it is found at the start", initial, "", strings.Replace(web, `"manager":"kustomize-controller"`, `"manager":"kubectl-create"`, 1), nil, PlacedByApplier, ""},
		{"an object found at the start may be made and changes nothing", initial, "", cm, nil, "", "may be made"},
		{"one the applier placed is not even made: a push may have taken it out", initial, "", web, nil, PlacedByApplier, ""},
		{"a deletion is one", live, cm, "", nil, "", "is gone"},
		{"an object being deleted is not", live, cm, cm, []string{`"v"`, `"w"`, `"uid"`, `"deletionTimestamp":"2030-01-02T03:04:05Z","uid"`}, BeingDeleted, ""},
		{"B55: a Secret is not", live, "", kind("v1", "Secret"), nil, SecretNotMirrored, ""},
		{"nor is its deletion told", live, kind("v1", "Secret"), "", nil, SecretNotMirrored, ""},
		{"B56: what a controller made is not", live, "", strings.Replace(cm, `"uid"`, `"ownerReferences":[{"kind":"Cron","name":"c","uid":"u","controller":true}],"uid"`, 1), nil, Derived, ""},
		{"what is owned without a controller is", live, "", strings.Replace(cm, `"uid"`, `"ownerReferences":[{"kind":"Cron","name":"c","uid":"u"}],"uid"`, 1), nil, "", "may be made was made"},
		{"nor is the deletion of what a controller made told", live, strings.Replace(cm, `"uid"`, `"ownerReferences":[{"controller":true}],"uid"`, 1), "", nil, Derived, ""},
		{"the CA bundle every namespace gets is not", live, "", strings.Replace(cm, `"app"`, `"kube-root-ca.crt"`, 1), nil, Derived, ""},
		{"an Event is not", live, "", kind("events.k8s.io/v1", "Event"), nil, Derived, ""},
		{"a core Event is not", live, "", kind("v1", "Event"), nil, Derived, ""},
		{"a Lease is not", live, "", kind("coordination.k8s.io/v1", "Lease"), nil, Derived, ""},
		{"an EndpointSlice is not", live, "", kind("discovery.k8s.io/v1", "EndpointSlice"), nil, Derived, ""},
		{"Endpoints are not", live, "", kind("v1", "Endpoints"), nil, Derived, ""},
		{"a ControllerRevision is not", live, "", kind("apps/v1", "ControllerRevision"), nil, Derived, ""},
		{"somebody's own kind of that name is", live, "", kind("example.org/v1", "Secret"), nil, "", "may be made was made"},
	} {
		t.Run(row.says, func(t *testing.T) {
			s := Seen{Resource: "things", Initial: row.how == initial, Replayed: row.how == replayed}
			if row.old != "" {
				s.Old = object(t, row.old)
			}
			if row.new != "" {
				s.New = object(t, row.new, row.change...)
			}
			c, skip := Consider(s)
			if skip != row.skip || told(c.intent) != row.want {
				t.Errorf("got %q, %q, want %q, %q", told(c.intent), skip, row.want, row.skip)
			}
			want := fact.DeletionOf("u2")
			if s.New != nil {
				want = fact.Key{UID: s.New.GetUID(), ResourceVersion: s.New.GetResourceVersion()}
			}
			if skip == "" && (c.Key != want || c.Initial != s.Initial) {
				t.Errorf("the candidate is about %v, initial: %v", c.Key, c.Initial)
			}
		})
	}
}

func TestAnIntentNamesItsObjectAndHoldsItWhole(t *testing.T) {
	c, skip := Consider(Seen{Resource: "deployments", Old: object(t, web), New: object(t, web, pairs(scaled, byKubectl)...)})
	if skip != "" {
		t.Fatal(skip)
	}
	c.intent.Changes = nil
	want := manifest.Intent{
		Object:   manifest.Identity{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Resource: "deployments",
		Whole: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(3), "paused": true},
			"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"app": "web"}}},
	}
	if diff := cmp.Diff(want, c.intent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWritersAreThoseWhoseEntriesSayTheyWrote(t *testing.T) {
	entry := func(manager, time, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"operation":"Update","apiVersion":"apps/v1","time":%q,"fieldsV1":%s},{"manager":"kube-c`, manager, time, fields)
	}
	for _, row := range []struct {
		says   string
		change []string
		want   string
	}{
		{"a new entry wrote", pairs(scaled, byKubectl), "kubectl"},
		{"an entry whose time moved wrote", pairs(scaled, byApplier), "kustomize-controller"},
		{"an entry that owns more wrote, also within the second", pairs(scaled, byApplierIn), "kustomize-controller"},
		{"an entry that only lost fields did not: somebody took them out", unpaused, ""},
		{"nor did one that is gone", []string{`"manager":"kustomize-controller"`, `"manager":"kube-controller-manager","subresource":"status"`}, ""},
		{"two managers are two writers", pairs(scaled, byKubectl, byApplier), "kubectl kustomize-controller"},
		{"who wrote the status did not write the content", pairs(scaled, byKubectl, statusToo), "kubectl"},
		{"the API server's own bookkeeping wrote nothing",
			pairs(scaled, byApplier, []string{`{"manager":"kube-c`, entry("before-first-apply", "20", `{"f:spec":{}}`)}), "kustomize-controller"},
		{"old entries it merges wrote nothing", pairs(scaled, []string{`{"manager":"kube-c`, entry("ancient-changes", "20", `{"f:spec":{}}`)}), ""},
		{"without a trace nobody is said to have written", scaled, ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			if got := strings.Join(writersBetween(object(t, web), object(t, web, row.change...)), " "); got != row.want {
				t.Errorf("writers are %q, want %q", got, row.want)
			}
		})
	}
	if got := writersBetween(nil, object(t, web)); !got.applierAlone() {
		t.Errorf("a new object is written by %v", got)
	}
	if got := writersBetween(object(t, web), &unstructured.Unstructured{Object: map[string]any{}}); len(got) != 0 {
		t.Errorf("an object without entries is written by %v", got)
	}
}

func TestDecideTellsAnEditFromTheAppliersWrite(t *testing.T) {
	const (
		trigger, none = true, false
		flux          = "system:serviceaccount:flux-system:kustomize-controller"
		fluxAgent     = "kustomize-controller/v1.9.6"
		ci            = "system:serviceaccount:ci:deployer"
		live, replay  = false, true
		nobody        = ""
	)
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		says       string
		change     []string
		replayed   bool
		trigger    bool
		user       string // of the fact; empty: there is none
		agent      string
		skip       Skip
		attributed string
	}{
		{"an edit has the author of its fact", pairs(scaled, byKubectl), live, trigger, "alice", "kubectl/v1", "", "alice"},
		{"without a fact it is nobody's", pairs(scaled, byKubectl), live, trigger, nobody, "", "", nobody},
		{"a service account is an author", pairs(scaled, byKubectl), live, trigger, ci, "deployer/v1", "", ci},
		{"what the applier's manager alone wrote is the applier's", pairs(scaled, byApplier), live, trigger, nobody, "", WrittenByApplier, ""},
		{"with its fact too", pairs(scaled, byApplier), live, trigger, flux, fluxAgent, WrittenByApplier, ""},
		{"also under another service account it works as", pairs(scaled, byApplier), live, trigger, "system:serviceaccount:shop:deployer", "x", WrittenByApplier, ""},
		{"a person under the applier's manager is a person", pairs(scaled, byApplier), live, trigger, "alice", "kubectl/v1", "", "alice"},
		{"where the managed fields say nothing the user agent does", scaled, live, trigger, flux, fluxAgent, WrittenByApplier, ""},
		{"a person who claims the user agent is a person", scaled, live, trigger, "alice", fluxAgent, "", "alice"},
		{"without any trace of the applier it is not the applier's", scaled, live, trigger, nobody, "", "", nobody},
		{"an undo that only takes fields out is mirrored", unpaused, live, trigger, nobody, "", "", nobody},
		{"and has its author", unpaused, live, trigger, "alice", "kubectl/v1", "", "alice"},
		{"a write with another manager beside the applier's is mirrored", pairs(scaled, byKubectl, byApplier), live, trigger, nobody, "", "", nobody},
		{"without a trigger the applier's writes are mirrored", pairs(scaled, byApplier), live, none, flux, fluxAgent, "", flux},
		{"a replayed edit has the author of its fact", pairs(scaled, byKubectl), replay, trigger, "alice", "kubectl/v1", "", "alice"},
		{"a replayed edit without a fact is nobody's", pairs(scaled, byKubectl), replay, trigger, nobody, "", "", nobody},
		{"what the applier alone wrote meanwhile is the applier's", pairs(scaled, byApplier), replay, trigger, nobody, "", WrittenByApplier, ""},
		{"an edit the applier wrote over meanwhile is not lost", pairs(scaled, byKubectl, byApplier), replay, trigger, flux, fluxAgent, "", nobody},
		{"nor is one that left no entry, and it is not the applier's", unpaused, replay, trigger, flux, fluxAgent, "", nobody},
		{"what several wrote meanwhile is nobody's", pairs(scaled, byKubectl, byApplier), replay, trigger, "alice", "kubectl/v1", "", nobody},
		{"a person who was last after the applier made not all of it", pairs(scaled, byApplier), replay, trigger, "alice", "kubectl/v1", "", nobody},
	} {
		t.Run(row.says, func(t *testing.T) {
			c, skip := Consider(Seen{Resource: "deployments", Old: object(t, web), New: object(t, web, row.change...), Replayed: row.replayed})
			if skip != "" {
				t.Fatalf("not considered: %s", skip)
			}
			var f *fact.Fact
			if row.user != nobody {
				f = &fact.Fact{Username: row.user, Impersonator: "imp", UserAgent: row.agent, At: at}
			}
			edit, skip := Decide(c, f, row.trigger)
			want := Edit{}
			if row.skip == "" {
				want.Intent = c.intent
			}
			if row.attributed != "" {
				want.Username, want.Impersonator, want.Made = row.attributed, "imp", at
			}
			if diff := cmp.Diff(want, edit); diff != "" || skip != row.skip {
				t.Errorf("skip %q, want %q; edit (-want +got)\n%s", skip, row.skip, diff)
			}
		})
	}
}

func TestAnObjectFoundAtTheStartIsNobodysEdit(t *testing.T) {
	c, skip := Consider(Seen{Resource: "deployments", New: object(t, web, unlabelled...), Initial: true})
	if skip != "" {
		t.Fatal(skip)
	}
	edit, skip := Decide(c, &fact.Fact{Username: "alice"}, true)
	if skip != "" || !edit.Resync || edit.Username != "" || len(edit.Intent.Changes) != 0 || !edit.Intent.Create {
		t.Errorf("Decide = %+v, %q", edit, skip)
	}
}

func TestAnObjectTheApplierMakesIsNoEditEvenWithoutItsLabel(t *testing.T) {
	c, skip := Consider(Seen{Resource: "deployments", New: object(t, web, unlabelled...)})
	if skip != "" {
		t.Fatal(skip)
	}
	if edit, skip := Decide(c, nil, true); skip != WrittenByApplier {
		t.Errorf("Decide = %+v, %q", edit, skip)
	}
}
