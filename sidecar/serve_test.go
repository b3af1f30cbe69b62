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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

// metricsOnly is a manager that has a metrics server and nothing else.
type metricsOnly struct {
	ctrl.Manager
	server metricsserver.Server
}

func (m metricsOnly) AddMetricsServerExtraHandler(path string, h http.Handler) error {
	return m.server.AddExtraHandler(path, h)
}

// served starts the metrics server as run does, on every address; it returns the port, and a channel that receives when the
// server has ended, which it does after stop.
func served(t *testing.T) (port string, stop context.CancelFunc, ended <-chan error) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	server, err := metricsserver.NewServer(metricsserver.Options{BindAddress: ":0"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := statuspage.New(ctx, fake.NewClientBuilder().WithScheme(scheme).Build(), func() statuspage.Leadership { return statuspage.Leadership{} }, now)
	if err := serve(metricsOnly{server: server}, healthz.Ping, page.Handler()); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- server.Start(ctx) }()
	bound := time.Now().Add(10 * time.Second) // a listener is there at once, on a machine that is not busy
	for {
		address := server.(interface{ GetBindAddr() string }).GetBindAddr()
		if address != "" {
			_, port, err = net.SplitHostPort(address)
			if err != nil {
				t.Fatal(err)
			}
			return port, stop, over
		}
		if time.Now().After(bound) {
			t.Fatal("the metrics server does not listen")
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
	port, stop, ended := served(t)
	for path, want := range map[string]string{
		"/": "<!doctype html>", "/status": `"apiVersion": "status.holdfast.dev/v1"`, "/status.js": `"use strict"`, "/status.css": "prefers-color-scheme",
		"/healthz": "ok", "/readyz": "ok", "/metrics": "# HELP",
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
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheAddressOfThePodGetsProbesAndMetricsAndNoStatus(t *testing.T) {
	port, stop, ended := served(t)
	own := podAddress(t)
	for path, want := range map[string]int{
		"/": 403, "/status": 403, "/status/events": 403, "/status.js": 403, "/anything": 403,
		"/healthz": 200, "/readyz": 200, "/metrics": 200,
	} {
		if resp := get(t, "http://"+net.JoinHostPort(own, port)+path); resp.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, resp.StatusCode, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
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
	port, stop, ended := served(t)
	resp := get(t, "http://localhost:"+port+"/status/events")
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "event: change\n" {
		t.Fatalf("%v, %q", err, line)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(passesEnd): // what run gives everything that serves
		t.Errorf("the server goes on for more than %s while a page is open", passesEnd)
	}
}
