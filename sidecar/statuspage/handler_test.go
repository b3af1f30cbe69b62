package statuspage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

func cached(t *testing.T, list func(context.Context) error) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	f := trigger("team", "app")
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(&f).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			if list != nil {
				if err := list(ctx); err != nil {
					return err
				}
			}
			return c.List(ctx, into, opts...)
		},
	}).Build()
}

func handler(t *testing.T) http.Handler {
	t.Helper()
	return New(t.Context(), cached(t, nil), func() Leadership { return Leadership{Leads: true} }, func() time.Time { return noon }).Handler()
}

// paths are all that is served.
var paths = []string{"/", "/status", "/status/events", "/status.js", "/status.css", "/status.svg"}

// ask sends one request as a peer at address would, for host.
func ask(h http.Handler, method, path, peer, host string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr, r.Host = peer, host
	if path == "/status/events" { // a stream that is let in has no end but its reader's
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		r = r.WithContext(gone)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestOnlyTheLoopbackInterfaceGetsTheStatus(t *testing.T) {
	for name, row := range map[string]struct {
		peer, host string
		want       int
	}{
		"a port-forward":                           {"127.0.0.1:40000", "localhost:9797", 200},
		"a port-forward by address":                {"127.0.0.1:40000", "127.0.0.1:8080", 200},
		"a port-forward over IPv6":                 {"[::1]:40000", "[::1]:8080", 200},
		"IPv4 as an IPv6 socket shows it":          {"[::ffff:127.0.0.1]:40000", "localhost", 200},
		"another address of the loopback network":  {"127.0.0.6:40000", "127.0.0.1", 200},
		"IPv6 without a port":                      {"[::1]:40000", "[::1]", 200},
		"another pod":                              {"10.1.2.3:40000", "10.1.2.4:9797", 403},
		"another pod that claims to be local":      {"10.1.2.3:40000", "localhost:9797", 403},
		"another pod over IPv6":                    {"[fd00::3]:40000", "localhost:9797", 403},
		"the metadata address":                     {"169.254.169.254:80", "localhost", 403},
		"a browser led to 127.0.0.1 by a name":     {"127.0.0.1:40000", "evil.example:9797", 403},
		"a name that only begins like an address":  {"127.0.0.1:40000", "127.0.0.1.evil.example", 403},
		"a name that only begins like localhost":   {"127.0.0.1:40000", "localhost.evil.example", 403},
		"a peer in the pod that uses its address":  {"127.0.0.1:40000", "10.1.2.4:9797", 403},
		"a loopback address nobody forwards to":    {"127.0.0.1:40000", "127.0.0.2:9797", 403},
		"a name of the address with a dot":         {"127.0.0.1:40000", "127.0.0.1.", 403},
		"no Host":                                  {"127.0.0.1:40000", "", 403},
		"a peer nobody can read, as of a socket":   {"@", "localhost", 403},
		"a peer without a port":                    {"127.0.0.1", "localhost", 403},
		"a zone makes a link-local peer not local": {"[fe80::1%lo]:40000", "localhost", 403},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(t)
			for _, path := range paths {
				resp := ask(h, http.MethodGet, path, row.peer, row.host)
				body, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != row.want {
					t.Errorf("%s: got %d %s", path, resp.StatusCode, body)
				}
				if row.want == 403 && (!strings.Contains(string(body), "port-forward") || strings.Contains(string(body), "team")) {
					t.Errorf("%s: the refusal is %q", path, body)
				}
			}
		})
	}
}

func TestAHeaderCannotMakeAPeerLocal(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/status", nil)
	r.RemoteAddr, r.Host = "10.1.2.3:40000", "localhost"
	for _, h := range []string{"X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP"} {
		r.Header.Set(h, "127.0.0.1")
	}
	w := httptest.NewRecorder()
	handler(t).ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("got %d", w.Code)
	}
}

func TestTheStatusIsOnlyRead(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"} {
		for _, path := range paths {
			resp := ask(handler(t), method, path, "127.0.0.1:1", "localhost")
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, resp.StatusCode, resp.Header.Get("Allow"))
			}
		}
	}
}

func TestAnAnswerIsJSONThatNobodyKeeps(t *testing.T) {
	server := httptest.NewServer(handler(t))
	defer server.Close()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if got := resp.Header.Get(header); got != want {
				t.Errorf("%s: %s is %q, want %q", method, header, got, want)
			}
		}
		if method == http.MethodHead {
			if len(body) != 0 || resp.ContentLength <= 0 {
				t.Errorf("HEAD: a body of %d bytes, announced as %d", len(body), resp.ContentLength)
			}
			continue
		}
		var s Status
		if err := json.Unmarshal(body, &s); err != nil || s.APIVersion != APIVersion || len(s.Appliers) != 1 || !s.Leadership.Leads {
			t.Errorf("GET: %v, %s", err, body)
		}
	}
}

func TestACacheThatCannotBeReadIsNotAnEmptyStatus(t *testing.T) {
	h := New(t.Context(), cached(t, func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("an answer may wait for ever")
		}
		return errors.New("informer of https://x:hunter2@host not synced")
	}), func() Leadership { return Leadership{} }, func() time.Time { return noon }).Handler()
	for _, path := range []string{"/", "/status"} {
		resp := ask(h, http.MethodGet, path, "127.0.0.1:1", "localhost")
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(string(body), "hunter2") {
			t.Errorf("%s: got %d %s", path, resp.StatusCode, body)
		}
	}
}
