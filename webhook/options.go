package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// ErrOptions is wrapped by every error about [ServerOptions] that cannot work.
var ErrOptions = errors.New("webhook server options")

// CertificateSource gives the server its certificate; see package cert.
type CertificateSource interface {
	// GetCertificate returns what to serve now.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Ready tells why clients can't be served.
	Ready() error
	// Run keeps the certificate up to date until ctx ends. The server calls it.
	Run(ctx context.Context) error
}

// ServerOptions set up a [Server]. Source and Admitter are needed; the zero
// value of everything else is the default.
type ServerOptions struct {
	// Addr is the TCP address to listen on. Default: ":9443".
	Addr string
	// Listener is used instead of Addr, if set. The server closes it.
	Listener net.Listener
	// Source gives the certificate. The server runs it.
	Source CertificateSource
	// Admitter decides.
	Admitter Admitter
	// Validator decides at ValidationPath; nil: nothing is served there.
	Validator Admitter
	// Checks must all pass for /readyz to do so, besides the certificate.
	Checks map[string]healthz.Checker
	// Metrics counts; nil counts nothing.
	Metrics *Metrics
	// Log gets faults; never a body. The zero value logs nothing.
	Log logr.Logger

	// MaxBody bounds one body, in bytes; larger is answered with 413. Default:
	// 32 MiB. An API server takes 3 MiB from a user; escaped as JSON and sent
	// along with the old object, that makes up to 24 MiB.
	MaxBody int64
	// MaxInFlight bounds all bodies at one time, in bytes; more is answered with
	// 429. The process needs about three times this, plus what the admitter
	// takes. Default: 64 MiB; more than MaxBody.
	MaxInFlight int64
	// MaxConcurrent bounds how many requests are decoded and decided at one
	// time. Default: 4 for each CPU that Go may use; they need no waiting for
	// anything but the CPU.
	MaxConcurrent int
	// MaxWait is how long a request waits for its turn before it is answered
	// with 429. The API server's next try is a second later, most turns take
	// less than a millisecond. Default: 250 ms. Negative: no waiting.
	MaxWait time.Duration
	// LameDuck is how long the server goes on answering after it was told to
	// stop, while it is not ready and closes every connection it answers on, so
	// that clients move to other replicas. Default: 3 s. Negative: none.
	LameDuck time.Duration
	// Drain bounds, after that, the wait for requests under way; new ones are
	// answered with 429. Default: 10 s.
	Drain time.Duration
}

// WithDefaults returns the options with the default for each zero field.
func (o ServerOptions) WithDefaults() ServerOptions {
	if o.Addr == "" {
		o.Addr = ":9443"
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.MaxInFlight == 0 {
		o.MaxInFlight = max(64<<20, o.MaxBody+1)
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = 4 * runtime.GOMAXPROCS(0)
	}
	if o.MaxWait == 0 {
		o.MaxWait = 250 * time.Millisecond
	}
	if o.LameDuck == 0 {
		o.LameDuck = 3 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	return o
}

// Validate names the first field that is missing or out of bounds.
func (o ServerOptions) Validate() error {
	switch {
	case o.Source == nil:
		return fmt.Errorf("%w: Source is missing", ErrOptions)
	case o.Admitter == nil:
		return fmt.Errorf("%w: Admitter is missing", ErrOptions)
	case o.MaxBody < 1:
		return fmt.Errorf("%w: MaxBody is %d, at least 1 is needed", ErrOptions, o.MaxBody)
	case o.MaxInFlight <= o.MaxBody:
		return fmt.Errorf("%w: MaxInFlight is %d, it must exceed MaxBody %d", ErrOptions, o.MaxInFlight, o.MaxBody)
	case o.MaxConcurrent < 1:
		return fmt.Errorf("%w: MaxConcurrent is %d, at least 1 is needed", ErrOptions, o.MaxConcurrent)
	case o.Drain < 0:
		return fmt.Errorf("%w: Drain is %s, it must not be negative", ErrOptions, o.Drain)
	}
	return nil
}
