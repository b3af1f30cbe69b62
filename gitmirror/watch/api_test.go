package watch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// api answers list and watch of ConfigMaps in team-a as an API server does.
type api struct {
	// streams says whether it knows streaming lists, as servers from 1.30 on may.
	streams bool

	gate sync.RWMutex // held while no request is answered

	mu        sync.Mutex
	rv        int
	objects   map[string]map[string]any
	history   []change
	forgotten int // watches from before this version are answered with 410
	cuts      int // raised to end every watch
	changed   chan struct{}
	forbidden bool
	open      int
	lists     int
	expired   int
}

type change struct {
	rv   int
	verb string
	obj  map[string]any
}

func newAPI(t *testing.T, streams bool) (*api, dynamic.Interface) {
	t.Helper()
	a := &api{streams: streams, rv: 100, objects: map[string]map[string]any{}, changed: make(chan struct{})}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	t.Cleanup(a.cut)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return a, client
}

// locked runs f and tells every watch that something changed.
func (a *api) locked(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// put makes or changes an object; its uid stays until it is deleted.
func (a *api) put(name, value string) {
	a.locked(func() {
		a.rv++
		verb, uid := "ADDED", fmt.Sprintf("%s-%d", name, a.rv)
		if old := a.objects[name]; old != nil {
			verb, uid = "MODIFIED", old["metadata"].(map[string]any)["uid"].(string)
		}
		a.objects[name] = map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": map[string]any{"k": value}, "metadata": map[string]any{
			"name": name, "namespace": "team-a", "uid": uid, "resourceVersion": strconv.Itoa(a.rv),
			"managedFields": []any{map[string]any{"manager": "test", "operation": "Update"}},
		}}
		a.history = append(a.history, change{a.rv, verb, a.objects[name]})
	})
}

func (a *api) delete(name string) {
	a.locked(func() {
		a.rv++
		a.history = append(a.history, change{a.rv, "DELETED", a.objects[name]})
		delete(a.objects, name)
	})
}

// cut ends every watch.
func (a *api) cut() { a.locked(func() { a.cuts++ }) }

// whileCut ends every watch and answers no request until f has run; then no watch can go on where it was.
func (a *api) whileCut(f func()) {
	a.gate.Lock()
	defer a.gate.Unlock()
	a.cut()
	f()
	a.locked(func() { a.forgotten = a.rv })
}

func (a *api) counts() (open, lists int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open, a.lists
}

// refused410 returns how many watches were told that their version is forgotten.
func (a *api) refused410() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.expired
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": reason})
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	a.gate.RLock()
	a.gate.RUnlock() //nolint:staticcheck // to have passed the gate is all that is wanted
	a.mu.Lock()
	forbidden := a.forbidden
	a.mu.Unlock()
	switch {
	case r.URL.Path != "/api/v1/namespaces/team-a/configmaps":
		refuse(w, 404, "NotFound")
	case forbidden:
		refuse(w, 403, "Forbidden")
	case query.Get("watch") == "":
		a.mu.Lock()
		defer a.mu.Unlock()
		a.lists++
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ConfigMapList", "apiVersion": "v1",
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(a.rv)}, "items": a.all()})
	case query.Get("sendInitialEvents") == "true" && !a.streams:
		refuse(w, 422, "Invalid")
	default:
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		a.watch(w, r, from, query.Get("sendInitialEvents") == "true")
	}
}

func (a *api) all() []map[string]any {
	items := []map[string]any{}
	for _, obj := range a.objects {
		items = append(items, obj)
	}
	return items
}

func (a *api) watch(w http.ResponseWriter, r *http.Request, from int, initial bool) {
	a.mu.Lock()
	cuts, forgotten, begin := a.cuts, a.forgotten, []change{}
	if initial {
		a.lists++
		from = a.rv
		for _, obj := range a.all() {
			begin = append(begin, change{a.rv, "ADDED", obj})
		}
		begin = append(begin, change{a.rv, "BOOKMARK", map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": map[string]any{
			"resourceVersion": strconv.Itoa(a.rv), "annotations": map[string]any{"k8s.io/initial-events-end": "true"}}}})
	}
	a.open++
	if from < forgotten {
		a.expired++
	}
	a.mu.Unlock()
	defer a.locked(func() { a.open-- })
	if from < forgotten {
		refuse(w, 410, "Expired")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send := func(changes []change) {
		for _, c := range changes {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": c.verb, "object": c.obj})
			from = max(from, c.rv)
		}
		w.(http.Flusher).Flush()
	}
	send(begin)
	for {
		a.mu.Lock()
		next, ended, changed := slices.Clone(a.history), a.cuts != cuts, a.changed
		a.mu.Unlock()
		if ended {
			return
		}
		send(slices.DeleteFunc(next, func(c change) bool { return c.rv <= from }))
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
