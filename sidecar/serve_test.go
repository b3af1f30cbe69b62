package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/start"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

// served answers as run does, on every address, for a holder that is ready; it returns the port, and a function that tells
// the page to end and then closes the server, within bound.
func served(t *testing.T) (port string, stop func(bound time.Duration)) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	page := statuspage.New(ctx, fake.NewClientBuilder().WithScheme(scheme).Build(), func() statuspage.Leadership { return statuspage.Leadership{} }, now)
	gate := start.NewGate(time.Hour)
	gate.Ready()
	server := start.Serve(listener, gate, metrics.Registry, page.Handler())
	if _, port, err = net.SplitHostPort(listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return port, func(bound time.Duration) {
		cancel()
		within, over := context.WithTimeout(context.Background(), bound)
		defer over()
		server.Close(within)
		if within.Err() != nil {
			t.Errorf("the server goes on for more than %s", bound)
		}
	}
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestOnePortServesProbesMetricsAndTheStatus(t *testing.T) {
	port, stop := served(t)
	for path, want := range map[string]string{
		"/": "<!doctype html>", "/status": `"apiVersion": "status.holdfast.dev/v1"`, "/status.js": `"use strict"`, "/status.css": "prefers-color-scheme",
		"/healthz": "ok", "/readyz": "ok", "/startz": "ok", "/metrics": "# HELP",
	} {
		resp := get(t, "http://localhost:"+port+path)
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %v, %d %.200s", path, err, resp.StatusCode, body)
		}
	}
	if resp := get(t, "http://localhost:"+port+"/debug/pprof/"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("what nobody serves is answered with %d", resp.StatusCode)
	}
	stop(10 * time.Second)
}

func TestTheAddressOfThePodGetsProbesAndMetricsAndNoStatus(t *testing.T) {
	port, stop := served(t)
	own := podAddress(t)
	for path, want := range map[string]int{
		"/": 403, "/status": 403, "/status/events": 403, "/status.js": 403, "/anything": 403,
		"/healthz": 200, "/readyz": 200, "/startz": 200, "/metrics": 200,
	} {
		if resp := get(t, "http://"+net.JoinHostPort(own, port)+path); resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
		}
	}
	stop(10 * time.Second)
}

// podAddress is an address of this machine that is not the loopback interface's, by which it sees itself as a stranger.
func podAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Fatal("this machine has no address besides the loopback interface's")
	return ""
}

func TestAnOpenPageDoesNotHoldTheStopUp(t *testing.T) {
	port, stop := served(t)
	resp := get(t, "http://localhost:"+port+"/status/events")
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "event: change\n" {
		t.Fatalf("%v, %q", err, line)
	}
	stop(suspendsEnd) // which run spends on other things meanwhile
}
