package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// sink takes the API server's audit events in gitmirror's place and throws them away, so that the API server does not try
// again and again to reach a receiver that is not there while something else is measured.
type sink struct {
	address, cert, key string

	server  *http.Server
	arrived chan arrival // when it is full, because nobody listens, events are dropped
}

// arrival is an audit event of a write, by the resourceVersion that resulted, and when it came.
type arrival struct {
	version string
	at      time.Time
}

// openSink listens where the world's audit webhook sends to.
func openSink(w *cluster.World) (*sink, error) {
	config, err := clientcmd.LoadFromFile(filepath.Join(w.Dir, "audit-webhook.kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("find the audit webhook: %w", err)
	}
	to, err := url.Parse(config.Clusters[config.Contexts[config.CurrentContext].Cluster].Server)
	if err != nil {
		return nil, fmt.Errorf("find the audit webhook: %w", err)
	}
	s := &sink{address: to.Host, cert: filepath.Join(w.Dir, "pki", "audit.crt"), key: filepath.Join(w.Dir, "pki", "audit.key"),
		arrived: make(chan arrival, 1024)}
	err = s.open()
	return s, err
}

// open begins to take events.
func (s *sink) open() error {
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("take audit events: %w", err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.server = server
	go func() { _ = server.ServeTLS(l, s.cert, s.key) }() // returns when close ends it
	return nil
}

// close leaves the port to gitmirror. Closing again does nothing.
func (s *sink) close() error {
	if s.server == nil {
		return nil
	}
	err := s.server.Close()
	s.server = nil
	return err
}

// ServeHTTP takes one batch.
func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var batch struct {
		Items []struct {
			ResponseObject struct {
				Metadata struct {
					ResourceVersion string `json:"resourceVersion"`
				} `json:"metadata"`
			} `json:"responseObject"`
		} `json:"items"`
	}
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, e := range batch.Items {
		select {
		case s.arrived <- arrival{e.ResponseObject.Metadata.ResourceVersion, at}:
		default:
		}
	}
}

// lag does write, which returns the resourceVersion it made, and returns how long after its answer the event of it arrived.
func (s *sink) lag(ctx context.Context, write func(context.Context) (string, error)) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, editBound, errors.New("the audit event never came"))
	defer cancel()
	for len(s.arrived) > 0 {
		<-s.arrived
	}
	seen := map[string]time.Time{}
	type answer struct {
		version string
		at      time.Time
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		version, err := write(ctx)
		answered <- answer{version, time.Now(), err}
	}()
	var wrote answer
	for {
		select {
		case a := <-s.arrived:
			seen[a.version] = a.at
		case wrote = <-answered:
			if wrote.err != nil {
				return 0, wrote.err
			}
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if at, ok := seen[wrote.version]; ok && wrote.version != "" {
			return at.Sub(wrote.at), nil
		}
	}
}
