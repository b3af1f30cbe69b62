package cluster

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// replica answers every connection with its name, and says whether it is ready.
type replica struct {
	backend
	ready atomic.Bool
}

func newReplica(t *testing.T, name string) *replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, name)
			_ = conn.Close()
		}
	}()
	r := &replica{}
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !r.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(probe.Close)
	r.backend = backend{l.Addr().String(), probe.URL}
	return r
}

// answers are the names that so many connections to the balancer read; "" is one that was closed at once.
func answers(t *testing.T, b *balancer, n int) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		conn, err := net.Dial("tcp", b.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		name, _ := io.ReadAll(conn) // one that is reset reads nothing
		_ = conn.Close()
		got[string(name)]++
	}
	return got
}

func TestABalancerLeadsToWhatIsReadyInTurn(t *testing.T) {
	one, two := newReplica(t, "one"), newReplica(t, "two")
	b, err := startBalancer("127.0.0.1:0", []backend{one.backend, two.backend})
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	for _, step := range []struct {
		name     string
		one, two bool
		want     map[string]int // of four connections
	}{
		{"to none while none is ready", false, false, map[string]int{"": 4}},
		{"to the one that is", true, false, map[string]int{"one": 4}},
		{"to both in turn", true, true, map[string]int{"one": 2, "two": 2}},
		{"and no more to one that stops", false, true, map[string]int{"two": 4}},
	} {
		one.ready.Store(step.one)
		two.ready.Store(step.two)
		asked := func(context.Context) (bool, error) {
			return b.ready[0].Load() == step.one && b.ready[1].Load() == step.two, nil
		}
		if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, asked); err != nil {
			t.Fatalf("%s: the balancer does not ask whether they are ready: %v", step.name, err)
		}
		got := answers(t, b, 4)
		if len(got) != len(step.want) || got["one"] != step.want["one"] || got["two"] != step.want["two"] {
			t.Errorf("%s: %v, want %v", step.name, got, step.want)
		}
	}
}

func TestTheWebhookConfigurationOfAWorldIsTheChartsWithAURL(t *testing.T) {
	root, err := findCheckout()
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&World{root: root}).webhookConfiguration("https://localhost:1/mutate-pod")
	if err != nil {
		t.Fatal(err)
	}
	webhooks, _ := c.Object["webhooks"].([]any)
	if c.GetName() != "holdfast-injector" || len(webhooks) != 1 {
		t.Fatalf("it became %v", c.Object)
	}
	w := webhooks[0].(map[string]any)
	client := w["clientConfig"].(map[string]any)
	if len(client) != 1 || client["url"] != "https://localhost:1/mutate-pod" {
		t.Errorf("it is called at %v", client)
	}
	if w["failurePolicy"] != "Ignore" || w["reinvocationPolicy"] != "IfNeeded" || w["matchConditions"] == nil || w["namespaceSelector"] == nil {
		t.Errorf("the chart's rules are not all there: %v", w)
	}
}
