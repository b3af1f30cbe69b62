package audit

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// ServerOptions say where the audit server listens and whom it believes.
type ServerOptions struct {
	// Address to listen on, `host:port`; port 0 picks a free one.
	Address string

	// CertFile and KeyFile are the server's own pair, ClientCAFile the authorities a client's certificate must come
	// from; PEM, required. Any certificate of those authorities is admitted, so they should serve this purpose only.
	// The files are read for each connection; while they cannot be read, the last good ones are used.
	CertFile, KeyFile, ClientCAFile string

	// Handler answers the requests. Required.
	Handler http.Handler

	// Log is told when the files cannot be read and, at V(1), of connections that fail.
	Log logr.Logger
}

// Server serves the audit webhook over mutual TLS.
type Server struct {
	listener net.Listener
	server   *http.Server
}

// Listen opens the port, so that a wrong address or file is an error at start and not at the first batch.
func Listen(o ServerOptions) (*Server, error) {
	config, err := serverTLS(o)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for audit events: %w", err)
	}
	return &Server{listener: listener, server: &http.Server{
		Handler:           o.Handler,
		TLSConfig:         config,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 64},
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(o.Log), -1), // V(1)
	}}, nil
}

// Addr returns the address the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Start serves until ctx is done, and returns nil then, after the requests at hand are answered or 5 s have passed.
func (s *Server) Start(ctx context.Context) error {
	failed := make(chan error, 1)
	go func() { failed <- s.server.ServeTLS(s.listener, "", "") }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve audit events: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.server.Shutdown(ending); err != nil {
		_ = s.server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve audit events: %w", err)
	}
	return nil
}

// NeedLeaderElection is false: facts are received wherever they are sent.
func (s *Server) NeedLeaderElection() bool { return false }

// serverTLS returns a configuration that admits no client without a certificate of the client authorities.
func serverTLS(o ServerOptions) (*tls.Config, error) {
	var good atomic.Pointer[tls.Config]
	first, err := loadTLS(o)
	if err != nil {
		return nil, err
	}
	good.Store(first)
	config := first.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if fresh, err := loadTLS(o); err != nil {
			o.Log.Error(err, "audit server keeps its last good certificates")
		} else {
			good.Store(fresh)
		}
		return good.Load(), nil
	}
	return config, nil
}

// loadTLS reads the three files.
func loadTLS(o ServerOptions) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("load the audit server's certificate: %w", err)
	}
	pem, err := os.ReadFile(o.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("load the audit server's client authorities: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, errors.New("load the audit server's client authorities: " + o.ClientCAFile + " holds no PEM certificate")
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authorities,
	}, nil
}
