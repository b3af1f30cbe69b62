package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore/gitstoretest"
)

// bound is how long anything here may take.
const bound = 30 * time.Second

var (
	configMaps = Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap"}
	apps       = types.NamespacedName{Namespace: "shop", Name: "apps"}
)

// facts are what audit says, when a test says so.
type facts struct {
	mu    sync.Mutex
	known map[fact.Key]fact.Fact
	added map[chan struct{}]bool
}

func (f *facts) Lookup(k fact.Key) (fact.Fact, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.known[k]
	return found, ok
}

func (f *facts) Expected() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.known) > 0
}

func (f *facts) Listen() (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := make(chan struct{}, 1)
	f.added[c] = true
	return c, func() {}
}

// say makes user the proven writer of the object's version.
func (f *facts) say(object, version, user string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[fact.Key{UID: types.UID(object), ResourceVersion: version}] = fact.Fact{Username: user, At: time.Now().UTC()}
	for c := range f.added {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// stage is a running mirror between a fake API server and a real Git server.
type stage struct {
	*testing.T
	server *gitstoretest.Server
	client *fake.FakeDynamicClient
	facts  *facts
	mirror *Mirror
	change chan struct{} // gets a value when something may have changed
	stop   context.CancelFunc
	ended  chan error

	mu   sync.Mutex
	told []string // messages of refusals
}

// begin runs a mirror on a repository with one ConfigMap in it, after change has had its way with the options.
func begin(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{
		T: t, server: gitstoretest.New(t), change: make(chan struct{}, 1), ended: make(chan error, 1),
		client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps.GroupVersionResource: "ConfigMapList"}),
		facts:  &facts{known: map[fact.Key]fact.Fact{}, added: map[chan struct{}]bool{}},
	}
	s.server.Push("main", "bob", "start", map[string]string{"apps/web.yaml": manifestOf("web", "1")})
	opts := Options{
		Client: s.client, Facts: s.facts, DataDir: t.TempDir(), Poll: 50 * time.Millisecond, Metrics: NewMetrics(), Log: logr.Discard(),
		Credentials: func(context.Context, types.NamespacedName) (gitstore.Credentials, error) {
			return gitstore.Credentials{Username: gitstoretest.Username, Password: gitstoretest.Password}, nil
		},
		Changed: func(context.Context, types.NamespacedName) {
			select {
			case s.change <- struct{}{}:
			default:
			}
		},
		Refused: func(_ context.Context, _ types.NamespacedName, r Refusal) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.told = append(s.told, r.Message)
		},
	}
	for _, f := range change {
		f(&opts)
	}
	s.mirror = New(opts)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() {
		s.ended <- s.mirror.Start(ctx)
		close(s.ended)
	}()
	t.Cleanup(func() {
		s.server.Intercept(nil)
		s.ends()
	})
	return s
}

// ends stops the mirror and waits for its end.
func (s *stage) ends() {
	s.Helper()
	s.stop()
	select {
	case err := <-s.ended:
		if err != nil {
			s.Error(err)
		}
	case <-time.After(bound):
		s.Error("the mirror does not end")
	}
}

// target is a target on the stage's repository that mirrors ConfigMaps.
func (s *stage) target() Target {
	return Target{
		Name: apps, Provider: types.NamespacedName{Namespace: "shop", Name: "repo"}, URL: s.server.URL, Branch: "main", Folder: "apps",
		Committer: author.Author{Name: "Holdfast", Email: "holdfast@holdfast.invalid"}, Resources: []Resource{configMaps}, Triggered: true,
	}
}

// set mirrors a target.
func (s *stage) set(t Target) {
	s.Helper()
	if err := s.mirror.Set(t); err != nil {
		s.Fatal(err)
	}
}

// watched waits until the target's streams run and all that was there is dealt with.
func (s *stage) watched() {
	s.Helper()
	s.until("the streams to run", func(st State) bool { return !st.Blind && !st.Busy && st.Tip != "" })
}

// until waits until the target's state is so.
func (s *stage) until(what string, so func(State) bool) State {
	s.Helper()
	for end := time.After(bound); ; {
		st, ok := s.mirror.State(apps)
		if ok && so(st) {
			return st
		}
		select {
		case <-s.change:
		case <-time.After(10 * time.Millisecond): // what another goroutine has not told yet
		case <-end:
			s.Fatalf("waited for %s: %+v, %t", what, st, ok)
		}
	}
}

// eventually waits for something the test is not told of.
func (s *stage) eventually(what string, so func() bool) {
	s.Helper()
	for end := time.Now().Add(bound); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("waited for %s", what)
		}
	}
}

// put makes or changes a ConfigMap, as the API server would; its name is its uid.
func (s *stage) put(name, version, value string) {
	s.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"value": value},
		"metadata": map[string]any{"namespace": "shop", "name": name, "uid": name, "resourceVersion": version,
			"managedFields": []any{map[string]any{"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": version}}},
	}}
	tracker := s.client.Tracker()
	err := tracker.Create(configMaps.GroupVersionResource, obj, "shop")
	if apierrors.IsAlreadyExists(err) {
		err = tracker.Update(configMaps.GroupVersionResource, obj, "shop")
	}
	if err != nil {
		s.Fatal(err)
	}
}

// delete deletes a ConfigMap.
func (s *stage) delete(name string) {
	s.Helper()
	if err := s.client.Tracker().Delete(configMaps.GroupVersionResource, "shop", name); err != nil {
		s.Fatal(err)
	}
}

// outage makes the Git server hang up on everybody until it is told otherwise.
func (s *stage) outage() {
	s.server.Intercept(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { gitstoretest.Hangup(w) })
}

// refusals returns what people were told.
func (s *stage) refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.told...)
}

// authors returns who made the branch's commits, oldest first.
func (s *stage) authors() string {
	return strings.ReplaceAll(s.server.Git("log", "--reverse", "--format=%an", "main"), "\n", " ")
}

func manifestOf(object, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: shop\ndata:\n  value: %q # keep\n", object, value)
}

// forbid makes the API server refuse to show the resource until it is told otherwise.
func (s *stage) forbid() (allow func()) {
	var mu sync.Mutex
	refused := true
	react := func() (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return refused, apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no such right"))
	}
	s.client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		is, err := react()
		return is, nil, err
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		refused = false
	}
}

// counted returns what a counter is at.
func (s *stage) counted(c prometheus.Counter) float64 {
	s.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		s.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
