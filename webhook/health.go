package webhook

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
)

// ErrStopping is why a server that was told to stop is not ready.
var ErrStopping = errors.New("the server is stopping")

// Ready is a check for a manager's readiness probe, the same as /readyz: it
// tells everything that keeps the server from serving.
func (s *Server) Ready(r *http.Request) error {
	if s.stopping.Load() {
		return ErrStopping
	}
	var faults []error
	if err := s.options.Source.Ready(); err != nil {
		faults = append(faults, fmt.Errorf("certificate: %w", err))
	}
	for _, name := range slices.Sorted(maps.Keys(s.options.Checks)) {
		if err := s.options.Checks[name](r); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.Ready(r); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	s.healthz(w, r)
}

// healthz passes also while the server stops: a restart would not help.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n"))
}

// connectionLog takes net/http's complaints about connections, most of them
// handshakes that somebody broke off.
type connectionLog struct{ log logr.Logger }

func (c connectionLog) Write(line []byte) (int, error) {
	c.log.V(1).Info("Connection failed", "reason", strings.TrimSpace(string(line)))
	return len(line), nil
}
