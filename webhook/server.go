package webhook

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"golang.org/x/sync/semaphore"
)

const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second // the whole request, 32 MiB of it
	writeTimeout  = 40 * time.Second // from the end of the headers; outlasts an API server's patience of 30 s
	// idleTimeout outlasts the 90 s of an API server's client, so that it is the
	// client that ends an idle connection. The other way round a request can
	// meet a connection that is just being closed, and then it fails open.
	idleTimeout    = 120 * time.Second
	maxHeaderBytes = 32 << 10
)

// Server serves admission requests on /admit and everything below, and probes
// on /healthz and /readyz. It is a Runnable of controller-runtime's manager that
// needs no leadership.
//
// TLS 1.3 only. HTTP/2 is off: a flood of streams on one connection is a way to
// make a server work for nothing (CVE-2023-44487 and its kin) that time-outs and
// counts of requests don't see; an API server gains little by it, it keeps its
// connections open either way.
type Server struct {
	options ServerOptions
	bytes   *semaphore.Weighted
	turns   chan struct{}

	stopping atomic.Bool // not ready, connections end with their answer
	refusing atomic.Bool // new requests get 429
}

// NewServer checks the options; errors wrap [ErrOptions].
func NewServer(options ServerOptions) (*Server, error) {
	options = options.WithDefaults()
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &Server{
		options: options,
		bytes:   semaphore.NewWeighted(options.MaxInFlight),
		turns:   make(chan struct{}, options.MaxConcurrent),
	}, nil
}

// NeedLeaderElection tells the manager that every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Handler returns the routes without TLS, for tests and for a server of one's own.
func (s *Server) Handler() http.Handler {
	router := chi.NewRouter()
	router.Use(s.closeWhenStopping)
	router.Get("/healthz", s.healthz)
	router.Get("/readyz", s.readyz)
	router.Post(defaultPath, s.answering(s.options.Admitter))
	router.Post(defaultPath+"/*", s.answering(s.options.Admitter))
	if s.options.Validator != nil {
		router.Post(ValidationPath, s.answering(s.options.Validator))
	}
	return router
}

// Start serves until ctx ends, then stops gracefully; see LameDuck and Drain. A
// server starts once. It returns nil after a graceful stop, else why it could
// not listen, why it failed, or that requests were cut off.
func (s *Server) Start(ctx context.Context) error {
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	// The certificate is kept up to date to the end of the drain.
	source, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.options.Source.Run(source) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			s.options.Log.Error(err, "The serving certificate was no longer kept up to date")
		}
	}()

	server := s.httpServer()
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	s.options.Log.Info("Serving admission requests", "address", listener.Addr().String())
	select {
	case err := <-served:
		return fmt.Errorf("serve admission requests: %w", err)
	case <-ctx.Done():
		return s.stop(server)
	}
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	if s.options.Listener != nil {
		return s.options.Listener, nil
	}
	config := net.ListenConfig{}
	listener, err := config.Listen(ctx, "tcp", s.options.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for admission requests on %q: %w", s.options.Addr, err)
	}
	return listener, nil
}

// stop lets clients move away, then waits for what is under way.
func (s *Server) stop(server *http.Server) error {
	s.stopping.Store(true)
	s.options.Log.Info("Stopping, clients move to other replicas", "lameDuck", s.options.LameDuck)
	time.Sleep(s.options.LameDuck)
	s.refusing.Store(true)
	drain, cancel := context.WithTimeout(context.Background(), s.options.Drain)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		_ = server.Close() // the error that counts is the first
		return fmt.Errorf("wait %s for admission requests under way: %w", s.options.Drain, err)
	}
	return nil
}

func (s *Server) httpServer() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           s.Handler(),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: s.options.Source.GetCertificate},
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          log.New(connectionLog{s.options.Log}, "", 0),
	}
}

func (s *Server) closeWhenStopping(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
