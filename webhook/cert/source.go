package cert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	defaultInterval = 10 * time.Second
	// firstInterval is how often a source looks that has nothing to serve yet.
	firstInterval = time.Second
)

// ErrNotLoaded says that a [Source] has no certificate to serve yet.
var ErrNotLoaded = errors.New("no serving certificate is loaded yet")

// Source hands the current serving certificate to a TLS server and looks for a
// newer one on a period. It changes only as a whole, to a certificate with its
// own key; while what is stored is missing or broken, the last good pair goes
// on serving. Make one with [FromSecret], [FromFiles] or [Static]; set its
// fields before Run.
type Source struct {
	// Interval is how often Run looks; 0 means 10 seconds.
	Interval time.Duration
	// Clock tells the time for Ready; nil means time.Now.
	Clock func() time.Time
	// Log gets a line for each change and each new fault.
	Log logr.Logger

	read    func(context.Context) (pair, error)
	current atomic.Pointer[loaded]
}

// pair is a certificate chain with its key as PEM.
type pair struct{ certificate, key []byte }

func (p pair) equal(other pair) bool {
	return bytes.Equal(p.certificate, other.certificate) && bytes.Equal(p.key, other.key)
}

type loaded struct {
	pair
	certificate *tls.Certificate
}

// FromSecret serves tls.crt and tls.key of a Secret, whoever keeps it. The
// reader should have no cache; it needs get on this one Secret, nothing more.
func FromSecret(reader client.Reader, name types.NamespacedName) *Source {
	return &Source{read: func(ctx context.Context) (pair, error) {
		secret := &corev1.Secret{}
		if err := reader.Get(ctx, name, secret); err != nil {
			return pair{}, fmt.Errorf("read secret %q: %w", name, err)
		}
		return pair{secret.Data[KeyCertificate], secret.Data[KeyPrivateKey]}, nil
	}}
}

// Static serves one certificate for ever. It fails if the key is another's.
func Static(certificatePEM, keyPEM []byte) (*Source, error) {
	fixed := pair{certificatePEM, keyPEM}
	s := &Source{read: func(context.Context) (pair, error) { return fixed, nil }}
	return s, s.Load(context.Background())
}

// GetCertificate is for tls.Config. It fails with [ErrNotLoaded].
func (s *Source) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := s.current.Load(); current != nil {
		return current.certificate, nil
	}
	return nil, ErrNotLoaded
}

// NotAfter returns when the served certificate expires, zero without one.
func (s *Source) NotAfter() time.Time {
	if current := s.current.Load(); current != nil {
		return current.certificate.Leaf.NotAfter
	}
	return time.Time{}
}

// Ready tells why clients can't be served: no certificate, or one whose time is
// over or has not begun.
func (s *Source) Ready() error {
	current := s.current.Load()
	if current == nil {
		return ErrNotLoaded
	}
	now, leaf := s.now(), current.certificate.Leaf
	switch {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("the serving certificate expired at %s", leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the serving certificate begins at %s only", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Load looks once. An error leaves what is served as it was.
func (s *Source) Load(ctx context.Context) error {
	found, err := s.read(ctx)
	if err != nil {
		return err
	}
	if current := s.current.Load(); current != nil && current.equal(found) {
		return nil
	}
	certificate, err := tls.X509KeyPair(found.certificate, found.key)
	if err != nil {
		return fmt.Errorf("%w: take over a serving certificate: %w", ErrData, err)
	}
	s.current.Store(&loaded{pair: found, certificate: &certificate})
	s.Log.Info("Serving a new certificate", "notAfter", certificate.Leaf.NotAfter)
	return nil
}

// Run looks at once, then on the interval, until ctx ends; then it returns nil.
// A fault is logged when it begins and when it changes.
func (s *Source) Run(ctx context.Context) error {
	var last string
	for {
		text := ""
		if err := s.Load(ctx); err != nil && ctx.Err() == nil {
			text = err.Error()
			switch {
			case text == last:
			case apierrors.IsNotFound(err):
				s.Log.Info("Waiting for the Secret with the serving certificate", "error", text)
			default:
				s.Log.Error(err, "Looking for a serving certificate failed, will retry")
			}
		}
		last = text
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.wait()):
		}
	}
}

func (s *Source) wait() time.Duration {
	interval := s.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	if s.current.Load() == nil {
		return min(interval, firstInterval)
	}
	return interval
}

func (s *Source) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock()
}
