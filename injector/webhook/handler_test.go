package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// fluxPod is enough of a kustomize-controller's pod to be recognised. It has what must not get into a log.
const fluxPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"kustomize-controller-7d8f-","labels":{"app":"kustomize-controller"}},
"spec":{"serviceAccountName":"kustomize-controller","containers":[{"name":"manager","image":"ghcr.io/fluxcd/kustomize-controller:v1.9.6",
"args":["--enable-leader-election"],"env":[{"name":"SECRET","value":"do-not-tell"}],
"volumeMounts":[{"name":"token","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}]}],
"volumes":[{"name":"token","emptyDir":{}}]}}`

const otherPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"web","image":"web"}]}}`

// bench is a handler with its log and its metrics.
type bench struct {
	*Handler
	logged   strings.Builder
	registry *prometheus.Registry
}

func newBench(tb testing.TB, policy func() (inject.Policy, error)) *bench {
	tb.Helper()
	b := &bench{registry: prometheus.NewRegistry()}
	m, err := NewMetrics(b.registry)
	if err != nil {
		tb.Fatal(err)
	}
	b.Handler = New(policy, noLimits, m, funcr.New(func(prefix, args string) { fmt.Fprintln(&b.logged, prefix, args) }, funcr.Options{Verbosity: 1}))
	return b
}

func policyOfTests() (inject.Policy, error) { return inject.DefaultPolicy(), nil }

// counts are the counters that are not 0.
func (b *bench) counts(tb testing.TB) []string {
	tb.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, s := range f.Metric {
			if s.Counter.GetValue() > 0 {
				var labels []string
				for _, l := range s.Label {
					labels = append(labels, l.GetValue())
				}
				got = append(got, fmt.Sprintf("%s %v", strings.Join(labels, " "), s.Counter.GetValue()))
			}
		}
	}
	return got
}

func request(pod string) *admissionv1.AdmissionRequest {
	return &admissionv1.AdmissionRequest{
		UID: "u1", Namespace: "flux-system", Operation: admissionv1.Create,
		Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object:   runtime.RawExtension{Raw: []byte(pod)},
	}
}

// post sends what an API server would and returns the status and the answer.
func (b *bench) post(tb testing.TB, body string) (int, *admissionv1.AdmissionResponse) {
	tb.Helper()
	w := httptest.NewRecorder()
	b.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body)))
	if w.Code != http.StatusOK {
		return w.Code, nil
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		tb.Fatalf("%v in %s", err, w.Body)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response == nil {
		tb.Fatalf("answered %s", w.Body)
	}
	return w.Code, review.Response
}

func (b *bench) ask(tb testing.TB, req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	tb.Helper()
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: req,
	})
	if err != nil {
		tb.Fatal(err)
	}
	status, response := b.post(tb, string(body))
	if status != http.StatusOK {
		tb.Fatalf("status %d", status)
	}
	return response
}

func TestWhateverIsAskedIsAllowed(t *testing.T) {
	subresource, update, other := request(fluxPod), request(fluxPod), request(fluxPod)
	subresource.SubResource, update.Operation, other.Resource.Resource = "status", admissionv1.Update, "podtemplates"
	noPolicy := func() (inject.Policy, error) { return inject.Policy{}, errors.New("no policy yet") }
	fails := func([]byte, string, inject.Policy, inject.Room) (inject.Result, error) {
		return inject.Result{}, errors.New("what is this")
	}
	panics := func([]byte, string, inject.Policy, inject.Room) (inject.Result, error) { panic("of do-not-tell") }
	unwritable := func([]byte, string, inject.Policy, inject.Room) (inject.Result, error) {
		return inject.Result{Flavour: inject.Flux, Patch: []inject.Operation{{Op: "add", Path: "/x", Value: func() {}}}}, nil
	}
	for _, row := range []struct {
		name    string
		policy  func() (inject.Policy, error)
		inject  func([]byte, string, inject.Policy, inject.Room) (inject.Result, error)
		request *admissionv1.AdmissionRequest
		patched bool
		warned  bool
		audit   string
		count   string
	}{
		{"a controller's pod is patched", policyOfTests, inject.Inject, request(fluxPod), true, false, "Injected", "kustomize-controller Injected 1"},
		{"any other pod is not", policyOfTests, inject.Inject, request(otherPod), false, false, "NotRecognised", " NotRecognised 1"},
		{"nor is what is no pod", policyOfTests, inject.Inject, other, false, false, "", " NotAPod 1"},
		{"nor a part of a pod", policyOfTests, inject.Inject, subresource, false, false, "", " NotAPod 1"},
		{"nor a pod that is there", policyOfTests, inject.Inject, update, false, false, "", " NotAPod 1"},
		{"without a policy a pod is let through", noPolicy, inject.Inject, request(fluxPod), false, true, "Failed", " Failed 1"},
		{"after an error too", policyOfTests, fails, request(fluxPod), false, true, "Failed", " Failed 1"},
		{"after a panic too", policyOfTests, panics, request(fluxPod), false, true, "Failed", " Failed 1"},
		{"with a patch that cannot be sent too", policyOfTests, unwritable, request(fluxPod), false, true, "Failed", "kustomize-controller Failed 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, row.policy)
			b.inject = row.inject
			got := b.ask(t, row.request)
			if !got.Allowed || got.UID != "u1" {
				t.Errorf("answered %+v", got)
			}
			if patched := got.PatchType != nil && len(got.Patch) > 0; patched != row.patched {
				t.Errorf("patched is %v: %s", patched, got.Patch)
			}
			if warned := len(got.Warnings) > 0; warned != row.warned {
				t.Errorf("warnings %q", got.Warnings)
			}
			if got.AuditAnnotations["holder"] != row.audit {
				t.Errorf("the audit log says %q", got.AuditAnnotations)
			}
			if diff := cmp.Diff([]string{row.count}, b.counts(t)); diff != "" {
				t.Errorf("counts, -want +got:\n%s", diff)
			}
			if strings.Contains(b.logged.String(), "do-not-tell") {
				t.Errorf("the log tells of a value: %s", b.logged.String())
			}
		})
	}
}

func TestThePatchIsThatOfPackageInjectForTheNamespaceOfTheRequest(t *testing.T) {
	b := newBench(t, policyOfTests)
	var namespace string
	b.inject = func(pod []byte, ns string, p inject.Policy, room inject.Room) (inject.Result, error) {
		namespace = ns
		return inject.Inject(pod, ns, p, room)
	}
	got := b.ask(t, request(fluxPod))
	want, err := inject.Inject([]byte(fluxPod), "flux-system", inject.DefaultPolicy(), inject.Room{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(want.Patch)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Patch) != string(text) || namespace != "flux-system" {
		t.Errorf("in %q the patch is %s, want %s", namespace, got.Patch, text)
	}
	if log := b.logged.String(); !strings.Contains(log, "kustomize-controller-7d8f-") {
		t.Errorf("the log does not say which pod: %s", log)
	}
}

func TestWhatIsNoRequestIsAFailedCall(t *testing.T) {
	review := func(version, rest string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":"AdmissionReview"%s}`, version, rest)
	}
	for _, row := range []struct {
		name, body string
		status     int
	}{
		{"nothing", "", http.StatusBadRequest},
		{"no JSON", "pod: do-not-tell", http.StatusBadRequest},
		{"another version", review("admission.k8s.io/v1beta1", `,"request":{}`), http.StatusBadRequest},
		{"without a request", review("admission.k8s.io/v1", ""), http.StatusBadRequest},
		{"too much", strings.Repeat(" ", maxBodyBytes+1), http.StatusRequestEntityTooLarge},
		{"too many", review("admission.k8s.io/v1", `,"request":{"object":{"spec":{"containers":[{}`+strings.Repeat(",{}", maxCommas)+`]}}}`), http.StatusRequestEntityTooLarge},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, policyOfTests)
			if status, _ := b.post(t, row.body); status != row.status {
				t.Errorf("status %d, want %d", status, row.status)
			}
			if diff := cmp.Diff([]string{" Unreadable 1"}, b.counts(t)); diff != "" {
				t.Errorf("counts, -want +got:\n%s", diff)
			}
			if strings.Contains(b.logged.String(), "do-not-tell") {
				t.Errorf("the log quotes the body: %s", b.logged.String())
			}
		})
	}
	w := httptest.NewRecorder()
	newBench(t, policyOfTests).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", w.Code)
	}
}

func TestOnceTheInjectorStopsEachAnswerClosesItsConnection(t *testing.T) {
	var d Drain
	h := d.Wrap(New(policyOfTests, noLimits, nil, logr.Discard()))
	for _, want := range []string{"", "close"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path, nil))
		if got := w.Header().Get("Connection"); got != want {
			t.Errorf("Connection: %q, want %q", got, want)
		}
		d.Begin()
	}
}

// FuzzHandler: whatever the pod is, the answer allows it, and whatever the body is, nothing panics.
func FuzzHandler(f *testing.F) {
	f.Add(fluxPod, true)
	f.Add(otherPod, true)
	f.Add(`{"spec":{"containers":null}}`, true)
	f.Add(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1"}}`, false)
	f.Fuzz(func(t *testing.T, text string, pod bool) {
		b := newBench(t, policyOfTests)
		if !pod {
			b.post(t, text)
			return
		}
		if !json.Valid([]byte(text)) {
			t.Skip("the API server sends nothing else")
		}
		if got := b.ask(t, request(text)); !got.Allowed {
			t.Errorf("refused: %+v", got)
		}
	})
}
