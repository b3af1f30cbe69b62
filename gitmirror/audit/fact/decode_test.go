package fact

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// event is a Deployment alice patched, as the API server reports it at level RequestResponse.
const patched = `{"level":"RequestResponse","auditID":"a1","stage":"ResponseComplete","verb":"patch",
 "requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=kubectl-patch","userAgent":"kubectl/v1.36.3",
 "user":{"username":"alice","groups":["dev"]},"objectRef":{"resource":"deployments","namespace":"shop","name":"web"},
 "responseStatus":{"metadata":{},"code":200},
 "requestObject":[{"op":"replace","path":"/spec/replicas","value":3}],
 "responseObject":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","uid":"u1","resourceVersion":"41"}},
 "requestReceivedTimestamp":"2030-01-02T03:04:05.000001Z","stageTimestamp":"2030-01-02T03:04:05.020000Z"}`

// list wraps events as the webhook sends them.
func list(events ...string) []byte {
	return []byte(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(events, ",") + `]}`)
}

// but returns patched with each pair's first text replaced by its second, and fails the test where a text is not there.
func but(t *testing.T, pairs ...string) string {
	t.Helper()
	out := patched
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(out, pairs[i]) {
			t.Fatalf("the event has no %s", pairs[i])
		}
		out = strings.Replace(out, pairs[i], pairs[i+1], 1)
	}
	return out
}

func TestAWriteProvesItsAuthorForTheVersionItResultedIn(t *testing.T) {
	got, err := Decode(list(patched))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []Reading{{Outcome: Proves, Key: Key{UID: "u1", ResourceVersion: "41"}, Fact: Fact{
		Username: "alice", UserAgent: "kubectl/v1.36.3", Verb: "patch", AuditID: "a1",
		Received: at.Add(time.Microsecond), At: at.Add(20 * time.Millisecond),
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDecodeTellsWhatAnEventProves(t *testing.T) {
	const (
		object = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","uid":"u1","resourceVersion":"41"}}`
		ref    = `"objectRef":{"resource":"deployments","namespace":"shop","name":"web"}`
	)
	u1at41, u1gone := Key{UID: "u1", ResourceVersion: "41"}, DeletionOf("u1")
	for _, row := range []struct {
		says    string
		changes []string
		outcome Outcome
		key     Key
		by, as  string
	}{
		{"a request that is only received proves nothing", []string{"ResponseComplete", "RequestReceived"}, NotAWrite, Key{}, "", ""},
		{"a panic proves nothing", []string{"ResponseComplete", "Panic"}, NotAWrite, Key{}, "", ""},
		{"reading is no write", []string{`"patch"`, `"get"`}, NotAWrite, Key{}, "", ""},
		{"a collection's deletion names no single object", []string{`"patch"`, `"deletecollection"`}, NotAWrite, Key{}, "", ""},
		{"a rejected write did not happen", []string{`"code":200`, `"code":409`}, NotDone, Key{}, "", ""},
		{"a write without an answer did not happen", []string{`"code":200`, `"code":0`}, NotDone, Key{}, "", ""},
		{"a dry run did not happen", []string{"?fieldManager", "?dryRun=All&fieldManager"}, NotDone, Key{}, "", ""},
		{"a dry run asked for with an escape did not happen", []string{"?fieldManager", "?dry%52un=All&fieldManager"}, NotDone, Key{}, "", ""},
		{"an empty dryRun is none", []string{"?fieldManager", "?dryRun=&fieldManager"}, Proves, u1at41, "alice", ""},
		{"a request URI nobody can read proves nothing", []string{"/apis/apps", "%zz"}, NotDone, Key{}, "", ""},
		{"a create is a write", []string{`"patch"`, `"create"`, `"code":200`, `"code":201`}, Proves, u1at41, "alice", ""},
		{"a status is not the author's content", []string{ref, `"objectRef":{"subresource":"status"}`}, NotAWrite, Key{}, "", ""},
		{"an eviction is not", []string{ref, `"objectRef":{"subresource":"eviction"}`, `"patch"`, `"create"`}, NotAWrite, Key{}, "", ""},
		{"a scale is a write of the object it scales",
			[]string{ref, `"objectRef":{"subresource":"scale"}`, `"kind":"Deployment","apiVersion":"apps/v1"`, `"kind":"Scale","apiVersion":"autoscaling/v1"`},
			Proves, u1at41, "alice", ""},
		{"a missing objectRef is no hindrance", []string{ref, `"objectRef":null`}, Proves, u1at41, "alice", ""},
		{"B33: an event cut short says no version", []string{`"responseObject":` + object, `"annotations":{"audit.k8s.io/truncated":"true"}`}, NoVersion, Key{}, "", ""},
		{"B34: a generated name is not needed, the answer has the uid",
			[]string{`,"name":"web"}`, `}`, `"patch"`, `"create"`, `"code":200`, `"code":201`}, Proves, u1at41, "alice", ""},
		{"B34: at level Metadata a generated name leaves nothing to go by",
			[]string{`,"name":"web"}`, `}`, `"patch"`, `"create"`, `"responseObject":` + object, `"x":0`}, NoVersion, Key{}, "", ""},
		{"B36: the impersonated user is the author and the impersonator is kept",
			[]string{`"objectRef"`, `"impersonatedUser":{"username":"bob","extra":{"username":["eve"]}},"objectRef"`}, Proves, u1at41, "bob", "alice"},
		{"an impersonated nobody proves nothing", []string{`"objectRef"`, `"impersonatedUser":{},"objectRef"`}, NoVersion, Key{}, "", ""},
		{"B37: an answer that is a list says no version", []string{object, `[` + object + `]`}, NoVersion, Key{}, "", ""},
		{"an answer without a uid says no version", []string{`"uid":"u1",`, ``}, NoVersion, Key{}, "", ""},
		{"an answer without a resourceVersion says no version", []string{`,"resourceVersion":"41"`, ``}, NoVersion, Key{}, "", ""},
		{"an object's own METADATA is not its metadata",
			[]string{`"kind":"Deployment"`, `"kind":"Deployment","Metadata":{"uid":"u2","resourceVersion":"7"}`, `"uid":"u1","resourceVersion":"41"`,
				`"UID":"u2","ResourceVersion":"7","uid":"u1","resourceVersion":"41"`}, Proves, u1at41, "alice", ""},
		{"and takes nobody's place after it", []string{`"resourceVersion":"41"}`, `"resourceVersion":"41"},"METADATA":{"uid":"u2","resourceVersion":"7"}`},
			Proves, u1at41, "alice", ""},
		{"a deletion is never a fact about the version it is answered with", []string{`"patch"`, `"delete"`}, Proves, u1gone, "alice", ""},
		{"a deletion answered with a Status has its uid in the details",
			[]string{`"patch"`, `"delete"`, object, `{"kind":"Status","apiVersion":"v1","status":"Success","details":{"name":"web","uid":"u1"}}`},
			Proves, u1gone, "alice", ""},
		{"a deletion's dry run is in its body",
			[]string{`"patch"`, `"delete"`, `[{"op":"replace","path":"/spec/replicas","value":3}]`, `{"kind":"DeleteOptions","dryRun":["All"]}`}, NotDone, Key{}, "", ""},
		{"a field dryRun of an object is no dry run",
			[]string{`[{"op":"replace","path":"/spec/replicas","value":3}]`, `{"dryRun":["All"]}`}, Proves, u1at41, "alice", ""},
		{"nobody's write proves nothing", []string{`"username":"alice"`, `"username":""`}, NoVersion, Key{}, "", ""},
		{"a username too long to keep proves nothing", []string{`"username":"alice"`, `"username":"` + strings.Repeat("a", 2000) + `"`}, NoVersion, Key{}, "", ""},
		{"a verb that is a number is no event", []string{`"verb":"patch"`, `"verb":5`}, Malformed, Key{}, "", ""},
		{"a time that is none is no event", []string{"2030-01-02T03:04:05.020000Z", "yesterday"}, Malformed, Key{}, "", ""},
	} {
		t.Run(row.says, func(t *testing.T) {
			got, err := Decode(list(but(t, row.changes...)))
			if err != nil || len(got) != 1 {
				t.Fatalf("Decode = %v, %v", got, err)
			}
			r := got[0]
			if r.Outcome != row.outcome || r.Key != row.key || r.Fact.Username != row.by || r.Fact.Impersonator != row.as {
				t.Errorf("got %s %v by %q for %q", r.Outcome, r.Key, r.Fact.Username, r.Fact.Impersonator)
			}
		})
	}
}

func TestOneBadEventCostsNoOther(t *testing.T) {
	got, err := Decode(list(`7`, patched, `null`, `[]`, `{"user":[]}`, patched))
	if err != nil {
		t.Fatal(err)
	}
	var outcomes []Outcome
	for _, r := range got {
		outcomes = append(outcomes, r.Outcome)
	}
	want := []Outcome{Malformed, Proves, NotAWrite, Malformed, Malformed, Proves}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestABodyThatIsNoEventListIsAnError(t *testing.T) {
	for _, body := range []string{"", "{}", "[]", "null", patched, `{"kind":"EventList","apiVersion":"audit.k8s.io/v1beta1","items":[]}`, string(list(patched))[:200]} {
		if got, err := Decode([]byte(body)); err == nil {
			t.Errorf("Decode(%.40q) = %v, want an error", body, got)
		}
	}
}

func TestAUserAgentIsCut(t *testing.T) {
	got, err := Decode(list(but(t, "kubectl/v1.36.3", strings.Repeat("k", 5000))))
	if err != nil || len(got) != 1 || len(got[0].Fact.UserAgent) != maxUserAgent {
		t.Errorf("Decode = %v, %v", got, err)
	}
}

func FuzzDecodeProvesNothingWithoutAUserAndAUID(f *testing.F) {
	f.Add(list(patched))
	f.Add(list(`7`, `null`, strings.Replace(patched, "patch", "delete", 1)))
	f.Add([]byte(strings.Repeat("[", 20_000)))
	f.Add(list(strings.Replace(patched, `"metadata":{"name"`, `"METADATA":{"name"`, 1)))
	f.Fuzz(func(t *testing.T, body []byte) {
		readings, err := Decode(body)
		if err != nil && readings != nil {
			t.Error("an error comes with readings")
		}
		for _, r := range readings {
			switch proves := r.Outcome == Proves; {
			case proves && (r.Fact.Username == "" || r.Key.UID == ""):
				t.Errorf("proves without a user or a uid: %+v", r)
			case proves && (r.Key == DeletionOf(r.Key.UID)) != (r.Fact.Verb == "delete"):
				t.Errorf("a deletion and a write are mixed up: %+v", r)
			case len(r.Fact.Username)+len(r.Fact.Impersonator)+len(r.Fact.UserAgent)+len(r.Fact.AuditID)+len(r.Key.UID)+len(r.Key.ResourceVersion) > 4096:
				t.Errorf("a fact is not bounded: %+v", r)
			case !proves && (r.Fact != Fact{} || r.Key != Key{}):
				t.Errorf("%s comes with a fact: %+v", r.Outcome, r)
			}
		}
	})
}
