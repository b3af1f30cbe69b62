package start

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of a server that answers whoever reaches the pod. An open page is an answer that goes on, and moves its bound.
const (
	maxHeaderBytes = 16 << 10
	headersWithin  = 32 * time.Second
	answerWithin   = 10 * time.Second
	idleWithin     = 90 * time.Second
)

// Server answers for a holder as long as its process runs.
type Server struct {
	http   http.Server
	failed chan error
}

// Serve answers on listener: /healthz, /readyz, /startz and /metrics for everybody, and every other path as page does, which
// judges for itself who gets it.
func Serve(listener net.Listener, gate *Gate, gathered prometheus.Gatherer, page http.Handler) *Server {
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.Handle("/metrics", promhttp.HandlerFor(gathered, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, true, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		s := gate.State()
		say(w, s.Ready, s.readyz())
	})
	mux.HandleFunc("/startz", func(w http.ResponseWriter, _ *http.Request) {
		s := gate.State()
		say(w, s.Open, s.startz())
	})
	s := &Server{
		http: http.Server{
			Handler:           mux,
			MaxHeaderBytes:    maxHeaderBytes,
			ReadHeaderTimeout: headersWithin,
			WriteTimeout:      answerWithin,
			IdleTimeout:       idleWithin,
		},
		failed: make(chan error, 1),
	}
	go func() {
		if err := s.http.Serve(newPeers(listener, connectionsEach)); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve probes and status: %w", err)
		}
	}()
	return s
}

// Failed receives once, when the server has ended though nobody closed it.
func (s *Server) Failed() <-chan error { return s.failed }

// Close ends the server. Answers under way have until ctx ends; then they are cut.
func (s *Server) Close(ctx context.Context) {
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // the process ends, and with it whatever this could not close
	}
}

func (s State) readyz() string {
	if s.Ready {
		return "ok"
	}
	return "not ready: " + s.Why
}

func (s State) startz() string {
	switch {
	case s.Ready:
		return "ok"
	case s.Open:
		return "the holder is not ready, and its controller does not wait for it any longer: " + s.Why
	}
	return fmt.Sprintf("the holder is not ready, and its controller waits for it %s more at most: %s", s.Left.Round(100*time.Millisecond), s.Why)
}

// say answers a probe.
func say(w http.ResponseWriter, passes bool, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !passes {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, text) // nobody is there any more to be told of an error
}
