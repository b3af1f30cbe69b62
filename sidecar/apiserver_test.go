package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// apiserver is an API server that has every kind a holder reads and no object of any. Who asks for one may read it only while
// allowed; nothing can be written.
type apiserver struct {
	allowed atomic.Bool
	listed  func() // when FluxTriggers are listed, if it is set; set it before the server is asked anything
}

var groups = map[string][]string{ // by group and version: kind and resource
	"holdfast.dev/v1alpha1":          {"FluxTrigger fluxtriggers", "GitTarget gittargets", "GitProvider gitproviders", "KubeProvider kubeproviders"},
	"kustomize.toolkit.fluxcd.io/v1": {"Kustomization kustomizations"},
	"source.toolkit.fluxcd.io/v1":    {"GitRepository gitrepositories"},
	"coordination.k8s.io/v1":         {"Lease leases"},
}

func (s *apiserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasPrefix(r.URL.Path, "/apis") && r.URL.Path != "/api/v1/namespaces" {
		bare(w, r)
		return
	}
	if r.URL.Path == "/apis" {
		var all []string
		for gv := range groups {
			group, version, _ := strings.Cut(gv, "/")
			all = append(all, fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":%q,"version":%q}]}`, group, gv, version))
		}
		fmt.Fprintf(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[%s]}`, strings.Join(all, ","))
		return
	}
	for gv, kinds := range groups {
		if r.URL.Path == "/apis/"+gv {
			var all []string
			for _, k := range kinds {
				kind, resource, _ := strings.Cut(k, " ")
				all = append(all, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":true,"verbs":["get","list","watch"]}`, resource, kind))
			}
			fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":%q,"resources":[%s]}`, gv, strings.Join(all, ","))
			return
		}
	}
	s.list(w, r)
}

// list lists what there is of a kind, which is nothing, or watches it, which ends with who watches.
func (s *apiserver) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if s.listed != nil && strings.HasSuffix(r.URL.Path, "/fluxtriggers") && q.Get("watch") == "" {
		s.listed()
	}
	switch {
	case r.Method != http.MethodGet || !s.allowed.Load() || q.Has("sendInitialEvents"):
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"that is forbidden"}`)
	case q.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.URL.Path == "/api/v1/namespaces":
		fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	default:
		gv := strings.TrimPrefix(r.URL.Path, "/apis/")
		gv, resource := gv[:strings.LastIndex(gv, "/")], gv[strings.LastIndex(gv, "/")+1:]
		for _, k := range groups[gv] {
			if kind, name, _ := strings.Cut(k, " "); name == resource {
				fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, kind, gv)
			}
		}
	}
}

func TestAHolderWaitsForItsRightsAndIsReadyWithThemAndAnswersUntilItHasStopped(t *testing.T) {
	s, stopping, codes := &apiserver{}, atomic.Bool{}, make(chan int, 1)
	var ask func(string) (int, string)
	s.listed = func() {
		if stopping.Load() {
			code, _ := ask("/healthz")
			codes <- code
		}
	}
	ask, stop := begun(t, nil, answering(t, s.ServeHTTP))

	for _, k := range kinds() {
		until(t, ask, "/readyz", http.StatusServiceUnavailable, k.Name+" cannot be read: failed to list ")
	}
	until(t, ask, "/readyz", http.StatusServiceUnavailable, "bind the ClusterRole holdfast-holder")
	until(t, ask, "/startz", http.StatusOK, "FluxTriggers cannot be read")

	s.allowed.Store(true)
	until(t, ask, "/readyz", http.StatusOK, "ok")
	for path, want := range map[string]string{"/startz": "ok\n", "/status": `"total": 0`, "/metrics": "\nholdfast_holder_bypassed 0\n"} {
		if code, said := ask(path); code != http.StatusOK || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s", path, code, said)
		}
	}
	if _, said := ask("/metrics"); !strings.Contains(said, "\nholdfast_holder_ready 1\n") || !strings.Contains(said, "\nholdfast_holder_held 0\n") {
		t.Errorf("got %s", said)
	}

	stopping.Store(true)
	if err := stop(); err == nil || !strings.Contains(err.Error(), "delete Lease") {
		t.Errorf("it ends with %v", err)
	}
	select {
	case code := <-codes:
		if code != http.StatusOK {
			t.Errorf("while it looks for what is resumed it answers %d", code)
		}
	default:
		t.Error("it does not look for what is resumed")
	}
}
