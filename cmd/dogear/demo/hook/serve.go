package hook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Options say how the endpoint is served.
type Options struct {
	// Address is where to listen, host:port.
	Address string
	// CertificateFile and KeyFile are in PEM.
	CertificateFile, KeyFile string
	// Key is that of requests: "whsec_" and base64.
	Key string
}

// drainTime is how long requests under way may take at the end.
const drainTime = 2 * time.Second

// Serve serves the endpoint until ctx ends.
func Serve(ctx context.Context, o Options) error {
	handler, err := New(o.Key)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13}}
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, o.CertificateFile, o.KeyFile) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
